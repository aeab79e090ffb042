-- The trades to look at. The source keeps them among the NORMAL ones, for each reader to filter; here they
-- are a table of their own, made of the flags and not of the trades once more.
SELECT side, quantity, symbol, price, account, userid, anomaly_flag
FROM flagged_stock_trades
WHERE anomaly_flag <> 'NORMAL'
