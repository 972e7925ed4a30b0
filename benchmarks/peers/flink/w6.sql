shown late 1: `cost` BIGINT, `at` BIGINT;
clicks late 1: `price` BIGINT, `at` BIGINT;
`start` BIGINT, `end` BIGINT, `value` ARRAY<BIGINT>;
SELECT COALESCE(shown.`key`, clicks.`key`), COALESCE(shown.`at`, 0), COALESCE(clicks.`at`, 0),
    ARRAY[cost, price]
FROM shown JOIN clicks ON shown.`key` = clicks.`key`
    AND clicks.`time` BETWEEN shown.`time` AND shown.`time` + INTERVAL '10' SECOND
