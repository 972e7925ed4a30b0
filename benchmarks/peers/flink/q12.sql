`start` BIGINT, `value` BIGINT;
SELECT bidder, UNIX_TIMESTAMP(CAST(window_start AS STRING)) * 1000, COUNT(*)
FROM TUMBLE(
    TABLE (SELECT JSON_VALUE(`value`, '$.bidder') AS bidder, now FROM input),
    DESCRIPTOR(now), INTERVAL '10' SECOND)
GROUP BY bidder, window_start, window_end
