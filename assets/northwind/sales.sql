-- Prices and discounts are of type real in the database: as decimals they add up to the cent.
SELECT trunc(o.order_date, 'MM') AS month, c.category_name AS category,
       count(DISTINCT o.order_id) AS orders, sum(d.quantity) AS units,
       CAST(sum(CAST(d.unit_price AS DECIMAL(10, 2)) * d.quantity * (1 - CAST(d.discount AS DECIMAL(4, 2))))
         AS DECIMAL(14, 2)) AS sales
FROM northwind_order_details AS d
JOIN northwind_orders AS o ON o.order_id = d.order_id
JOIN northwind_products AS p ON p.product_id = d.product_id
JOIN northwind_categories AS c ON c.category_id = p.category_id
GROUP BY ALL
