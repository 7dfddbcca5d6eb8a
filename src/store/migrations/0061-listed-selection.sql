-- The selection that the last listing was made for, as a key; '' is everything. Where a connector itself tells what of
-- a partition is selected, another selection makes another listing.
alter table partitions add column listed_for text not null default '';
