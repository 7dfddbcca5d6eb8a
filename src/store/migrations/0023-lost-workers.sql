-- How many workers were lost in a row while they held an item: no failure of the item itself.
alter table sync_items add column lost_workers integer not null default 0;
