-- Every trade with the first flag that fits. The source speaks of a configurable threshold and has the
-- numbers in its statement; here both are parameters. No trade is left out, NORMAL ones are rows as well.
SELECT
  side,
  quantity,
  symbol,
  price,
  account,
  userid,
  CASE
    WHEN price < 0 THEN 'NEGATIVE_PRICE'
    WHEN quantity > :large_trade THEN 'LARGE_TRADE'
    WHEN price > :unusual_price THEN 'UNUSUAL_PRICE'
    ELSE 'NORMAL'
  END AS anomaly_flag
FROM stock_trades
