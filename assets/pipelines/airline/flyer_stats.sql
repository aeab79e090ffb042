-- What each passenger has flown so far, at the end of each minute in which a flight of theirs was recorded.
-- The source has the same running totals without a time, so that nobody can tell which is the newest, and
-- keeps them in a state that only grows. Here a row says which minute it is of.
SELECT
  date_trunc('MINUTE', `$$timestamp`) AS window_start,
  email_address,
  sum((unix_timestamp(arrival_time) - unix_timestamp(departure_time)) DIV 60) AS total_flight_duration,
  count(*) AS number_of_flights
FROM flight
GROUP BY date_trunc('MINUTE', `$$timestamp`), email_address
