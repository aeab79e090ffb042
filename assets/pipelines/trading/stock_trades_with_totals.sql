-- Each trade with what it cost. The source's documentation calls this an aggregate; its statement, like
-- this one, gives one row per trade. Totals are in stock_trade_totals.
SELECT
  `$$timestamp` AS trade_timestamp,
  userid,
  side,
  symbol,
  quantity,
  price,
  quantity * price AS total_price
FROM stock_trades
