`bidder` BIGINT, `now` AS PROCTIME();
`start` BIGINT, `value` BIGINT;
SELECT CAST(bidder AS STRING),
    1000 * CAST(TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_start) AS BIGINT), COUNT(*)
FROM TUMBLE(TABLE input, DESCRIPTOR(`now`), INTERVAL '10' SECOND)
GROUP BY bidder, window_start, window_end
