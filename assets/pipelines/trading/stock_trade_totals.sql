-- What each user bought and sold in each minute: the aggregate that the source's documentation promises.
-- Its statement multiplies and sums nothing. All of it is 64 bits wide: 431 of the dearest trades exceed 32.
SELECT
  date_trunc('MINUTE', `$$timestamp`) AS trade_minute,
  userid,
  side,
  symbol,
  count(*) AS number_of_trades,
  sum(quantity) AS total_quantity,
  sum(CAST(quantity AS BIGINT) * price) AS total_price
FROM stock_trades
GROUP BY date_trunc('MINUTE', `$$timestamp`), userid, side, symbol
