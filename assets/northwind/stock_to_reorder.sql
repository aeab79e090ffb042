SELECT product_id, product_name, supplier_id, units_in_stock, units_on_order, reorder_level
FROM northwind_products
WHERE discontinued = 0 AND units_in_stock + units_on_order <= reorder_level
