`start` BIGINT, `value` BIGINT;
SELECT `key`, UNIX_TIMESTAMP(CAST(window_start AS STRING)) * 1000, COUNT(*)
FROM TUMBLE(TABLE input, DESCRIPTOR(`time`), INTERVAL '10' SECOND)
GROUP BY `key`, window_start, window_end
