-- Flights of both airlines that have yet to arrive. The source's SQL reads SkyOne twice and filters nothing;
-- its jobs compare local times of different zones, and drop a bad time or die of it. Here times are UTC, and
-- a ticket without its times or its passenger is a dead letter.
WITH tickets AS (
  SELECT
    email_address, departure_time, departure_airport_code, arrival_time, arrival_airport_code,
    flight_number, confirmation_code, 'SkyOne' AS airline, `$$timestamp`
  FROM skyone
  UNION ALL
  SELECT
    email_address, departure_time, departure_airport_code, arrival_time, arrival_airport_code,
    flight_number, confirmation_code, 'Sunset' AS airline, `$$timestamp`
  FROM sunset
),
timed AS (
  SELECT
    *,
    try_to_timestamp(departure_time, 'yyyy-MM-dd HH:mm:ss') AS departure,
    try_to_timestamp(arrival_time, 'yyyy-MM-dd HH:mm:ss') AS arrival
  FROM tickets
)
SELECT
  email_address, departure_time, departure_airport_code, arrival_time, arrival_airport_code,
  flight_number, confirmation_code, airline, `$$timestamp`,
  CASE
    WHEN email_address IS NULL THEN 'email_address is null'
    WHEN departure IS NULL THEN concat('departure_time is no time: ', coalesce(departure_time, 'null'))
    WHEN arrival IS NULL THEN concat('arrival_time is no time: ', coalesce(arrival_time, 'null'))
  END AS `$$error`
FROM timed
WHERE arrival > :now OR arrival IS NULL OR departure IS NULL OR email_address IS NULL
