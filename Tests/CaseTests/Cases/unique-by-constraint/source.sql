INSERT INTO ZGROUP (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 1, 1, 'A'), (2, 1, 1, 'B');
INSERT INTO ZUSER (Z_PK, Z_ENT, Z_OPT, ZREMOTEID, ZDOMAIN, ZNAME, ZGROUP, ZINVITER, ZPROFILE) VALUES
    (1, 5, 1, 7, 'd', 'one', NULL, NULL, 1), (2, 5, 1, 7, 'd', 'two', 1, 1, 2), (3, 5, 1, NULL, 'd', 'three', 1, 2, NULL),
    (4, 5, 1, NULL, 'd', 'four', 2, 2, 3), (5, 5, 1, NULL, NULL, 'five', NULL, 4, NULL), (6, 5, 1, NULL, NULL, 'six', 2, NULL, NULL),
    (7, 5, 1, 7, NULL, 'seven', NULL, NULL, NULL), (8, 5, 1, 8, 'd', 'eight', 2, NULL, NULL), (9, 5, 1, 8, 'd', 'nine', 1, 9, 4),
    (10, 5, 1, 8, 'd', NULL, 2, 8, NULL), (11, 5, 1, NULL, 'd', 'three', 1, NULL, NULL), (12, 5, 1, 7, NULL, 'seven', NULL, NULL, NULL);
INSERT INTO ZPROFILE (Z_PK, Z_ENT, Z_OPT, ZBIO, ZUSER) VALUES (1, 3, 1, 'p1', 1), (2, 3, 1, 'p2', 2), (3, 3, 1, 'p3', 4), (4, 3, 1, 'p4', 9);
INSERT INTO ZPOST (Z_PK, Z_ENT, Z_OPT, ZTEXT, ZAUTHOR) VALUES (1, 2, 1, 'x', 1), (2, 2, 1, 'y', 2), (3, 2, 1, 'z', 5), (4, 2, 1, 'w', 10);
INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZWORD) VALUES (1, 4, 1, 'red'), (2, 4, 1, 'blue');
INSERT INTO Z_4USERS (Z_4TAGS, Z_5USERS) VALUES (1, 1), (1, 2), (2, 2), (2, 3), (1, 4), (2, 11);
UPDATE Z_PRIMARYKEY SET Z_MAX = 12 WHERE Z_NAME = 'User';
UPDATE Z_PRIMARYKEY SET Z_MAX = 4 WHERE Z_NAME IN ('Profile', 'Post');
UPDATE Z_PRIMARYKEY SET Z_MAX = 2 WHERE Z_NAME IN ('Group', 'Tag');
