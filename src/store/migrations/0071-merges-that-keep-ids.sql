-- Whether a customId that the target of a merge has already goes on with `_merge` at its end; else it is taken away.
alter table container_merges add column renames_ids boolean not null default false;
