-- How many workers were lost in a row while they held a document: no failure of the document itself.
alter table documents add column lost_workers integer not null default 0;
