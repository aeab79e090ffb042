-- The same as flight, of the topics with Avro values. In the source these go through other code, which
-- treats a bad time otherwise; here nothing differs but the names of the inputs.
WITH tickets AS (
  SELECT
    email_address, departure_time, departure_airport_code, arrival_time, arrival_airport_code,
    flight_number, confirmation_code, 'SkyOne' AS airline, `$$timestamp`
  FROM skyone_avro
  UNION ALL
  SELECT
    email_address, departure_time, departure_airport_code, arrival_time, arrival_airport_code,
    flight_number, confirmation_code, 'Sunset' AS airline, `$$timestamp`
  FROM sunset_avro
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
