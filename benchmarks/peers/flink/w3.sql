`amount` BIGINT;
`start` BIGINT, `value` BIGINT;
SELECT `key`, 1000 * CAST(TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_start) AS BIGINT), SUM(amount)
FROM HOP(TABLE input, DESCRIPTOR(`time`), INTERVAL '10' SECOND, INTERVAL '60' SECOND)
GROUP BY `key`, window_start, window_end
