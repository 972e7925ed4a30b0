auction: `seller` BIGINT;
person: `name` STRING;
`start` BIGINT, `value` STRING;
SELECT new.`key`, 1000 * CAST(TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', new.window_start) AS BIGINT), name
FROM (
    SELECT `key`, name, window_start, window_end
    FROM TUMBLE(TABLE person, DESCRIPTOR(`time`), INTERVAL '10' SECOND)
    GROUP BY `key`, name, window_start, window_end
) AS new JOIN (
    SELECT CAST(seller AS STRING) AS seller, window_start, window_end
    FROM TUMBLE(TABLE auction, DESCRIPTOR(`time`), INTERVAL '10' SECOND)
    GROUP BY seller, window_start, window_end
) AS selling ON new.`key` = selling.seller
    AND new.window_start = selling.window_start AND new.window_end = selling.window_end
