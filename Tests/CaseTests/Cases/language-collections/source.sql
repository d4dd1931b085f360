INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'Austen'), (2, 1, 1, 'Joyce'), (3, 1, 1, NULL), (4, 1, 1, 'fun');
INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZAUTHOR, ZPRICE, ZSOLD, ZTITLE, ZSINCE, ZCOLOUR) VALUES
    (1, 2, 1, 1, 5.5, 10, 'Emma', 100.5, NULL), (2, 2, 1, 1, 9.25, 20, 'Persuasion', -3, NULL), (3, 3, 1, 1, NULL, NULL, NULL, NULL, 'red'),
    (4, 2, 1, 2, 4, 5, 'Ulysses', 7, NULL), (5, 3, 1, 4, 0.1, 1, 'fun', NULL, 'blue'), (6, 2, 1, NULL, 1e308, 2147483647, 'Anon', 0, NULL),
    (7, 2, 1, 4, 0.2, -1, 'other', NULL, NULL);
INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZWORD) VALUES (1, 4, 1, 'fun'), (2, 4, 1, 'Emma'), (3, 4, 1, NULL);
INSERT INTO Z_2TAGS (Z_2BOOKS, Z_4TAGS, Z_FOK_4TAGS) VALUES (1, 1, 3072), (1, 2, 2048), (2, 3, 2048), (5, 1, 2048), (6, 2, 2048), (7, 1, 2048);
UPDATE Z_PRIMARYKEY SET Z_MAX = 4 WHERE Z_NAME = 'Author';
UPDATE Z_PRIMARYKEY SET Z_MAX = 7 WHERE Z_NAME = 'Book';
UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'Tag';
