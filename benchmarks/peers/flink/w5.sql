seen: `value` BYTES;
users upsert: `region` STRING;
`start` BIGINT, `value` BIGINT;
CREATE TEMPORARY VIEW regions AS
SELECT COALESCE(users.region, '?') AS region, seen.`time`
FROM seen LEFT JOIN users FOR SYSTEM_TIME AS OF seen.`time` ON seen.`key` = users.`key`;
SELECT region, 1000 * CAST(TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_start) AS BIGINT), COUNT(*)
FROM TUMBLE(TABLE regions, DESCRIPTOR(`time`), INTERVAL '10' SECOND)
GROUP BY region, window_start, window_end
