auction: `seller` BIGINT;
person: `name` STRING;
`start` BIGINT, `value` STRING;
SELECT arrived.`key`, 1000 * CAST(TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', arrived.window_start) AS BIGINT), name
FROM (
    SELECT `key`, name, window_start, window_end
    FROM TUMBLE(TABLE person, DESCRIPTOR(`time`), INTERVAL '10' SECOND)
    GROUP BY `key`, name, window_start, window_end
) AS arrived JOIN (
    SELECT CAST(seller AS STRING) AS seller, window_start, window_end
    FROM TUMBLE(TABLE auction, DESCRIPTOR(`time`), INTERVAL '10' SECOND)
    GROUP BY seller, window_start, window_end
) AS selling ON arrived.`key` = selling.seller
    AND arrived.window_start = selling.window_start AND arrived.window_end = selling.window_end
