-- Sources whose listings may leave items out without saying so.
-- Which listing of several this is, from 0; null: there is only one.
alter table partitions add column listing_pass integer;
-- New items that it has shown so far, and how many listings before it showed none.
alter table partitions add column listing_news integer not null default 0;
alter table partitions add column listing_quiet integer not null default 0;
-- Items that the last listing left out and that the source was not asked about yet.
alter table partitions add column unconfirmed integer not null default 0;
