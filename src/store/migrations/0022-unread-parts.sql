-- Parts of a source that a listing cannot see, with the reasons: of the one under way, and of the last one.
alter table partitions add column listing_unread jsonb not null default '[]'::jsonb;
alter table partitions add column unread jsonb not null default '[]'::jsonb;
