SELECT customer_id, count(*) AS orders, min(order_date) AS oldest, min(required_date) AS first_due
FROM northwind_orders
WHERE shipped_date IS NULL
GROUP BY customer_id
