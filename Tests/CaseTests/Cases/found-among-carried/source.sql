INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'Kafka'), (3, 1, 1, 'Doe'), (4, 1, 1, 'Doe');
INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZAUTHORNAME, ZYEAR) VALUES (1, 2, 1, 'Doe', 1), (2, 2, 1, 'Roe', 2), (3, 2, 1, NULL, 3), (4, 2, 1, 'Roe', 4), (5, 2, 1, NULL, 5), (6, 2, 1, 'Kafka', 6), (7, 2, 1, 'kafka', 7);
UPDATE Z_PRIMARYKEY SET Z_MAX = 5 WHERE Z_NAME = 'Author';
UPDATE Z_PRIMARYKEY SET Z_MAX = 7 WHERE Z_NAME = 'Book';
