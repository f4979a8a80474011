-- One row per write, never changed afterwards; compaction removes rows that nobody can ask for any more.
-- This runs once, in a new data folder, in a transaction of its own.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;

CREATE TABLE revisions (
    revision  INTEGER PRIMARY KEY,
    resource  TEXT    NOT NULL,
    namespace TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    created   INTEGER NOT NULL,  -- revision in which the object came into being
    previous  INTEGER NOT NULL,  -- revision this row replaces; 0 when nothing of that key is in the table
    deleted   INTEGER NOT NULL,  -- 1: the last state of an object, written when it went
    marks     TEXT    NOT NULL,  -- JSON: [uid, [owner uids], labels or null]
    value     BLOB    NOT NULL
);

-- Compare-and-swap, enforced a second time below the program: a key begins once, and a revision is replaced once,
-- so the rows of a key always form one line. Two partial indexes instead of one over all four columns, because
-- updates then touch only a few pages of small integers.
CREATE UNIQUE INDEX revisions_begin   ON revisions (resource, namespace, name) WHERE previous = 0;
CREATE UNIQUE INDEX revisions_succeed ON revisions (previous) WHERE previous > 0;
