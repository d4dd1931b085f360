INSERT INTO ZUSER (Z_PK, Z_ENT, Z_OPT, ZUSERID) VALUES (1, 2, 2, 1), (2, 2, 2, 1), (3, 2, 1, NULL);
INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZUSER, ZAUTHORNAME, ZTITLE) VALUES
    (9, 1, 1, 3, 'Franz Kafka', 'The Trial'), (10, 1, 1, 3, 'Witold Gombrowicz', 'Cosmos'),
    (11, 1, 1, 2, 'Franz Kafka', 'Metamorphosis'), (12, 1, 4, NULL, NULL, 'Beowulf'),
    (15, 1, 1, 77, 'Thomas Bernhard', 'Extinction'), (16, 1, 1, 3, '', NULL);
UPDATE Z_PRIMARYKEY SET Z_MAX = 20 WHERE Z_NAME = 'Book';
UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'User';
