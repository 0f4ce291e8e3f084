BEGIN TRANSACTION;
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    study_file TEXT NOT NULL,
    targets TEXT NOT NULL,
    submitted_by TEXT NOT NULL,
    state TEXT NOT NULL,
    owner TEXT NOT NULL DEFAULT '',
    crashes INTEGER NOT NULL DEFAULT 0,
    note TEXT NOT NULL DEFAULT '',
    submitted_at REAL NOT NULL,
    changed_at REAL NOT NULL,
    lease_until REAL NOT NULL DEFAULT 0,
    not_before REAL NOT NULL DEFAULT 0
);
INSERT INTO "jobs" VALUES(1,'done','digest of done','study: done
# größer
','["lab"]','ci','complete','old',0,'',1.79542085676238894463e+09,1.795420856766554594e+09,1.79542445676574230189e+09,0.0);
INSERT INTO "jobs" VALUES(2,'runs','digest of runs','study: runs
# größer
','["lab", "other"]','ci','running','old',0,'',1.79542085676311111448e+09,1.79542085676827406883e+09,2.79542085676827430735e+09,0.0);
INSERT INTO "jobs" VALUES(3,'left','digest of left','study: left
# größer
','["far"]','ci','running','new',0,'of this it is known only that it ran',1.79542085676357579234e+09,1.79542085676877760883e+09,1.79542085676923036572e+09,0.0);
INSERT INTO "jobs" VALUES(4,'waits','digest of waits','study: waits
# größer
','["lab"]','ci','queued','',0,'',1.79542085676412320133e+09,1.79542085676412320133e+09,0.0,0.0);
INSERT INTO "jobs" VALUES(5,'again','digest of again','study: again
# größer
','["near"]','ci','queued','',0,'',1.79542085676459288595e+09,1.79542085676459288595e+09,0.0,0.0);
INSERT INTO "jobs" VALUES(6,'off','digest of off','study: off
# größer
','["lab"]','ci','paused','',0,'by ann',1.79542085676502919189e+09,1.79542085677004313471e+09,0.0,0.0);
CREATE INDEX jobs_by_state ON jobs (state, number);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('jobs',6);
COMMIT;
PRAGMA user_version = 1;
