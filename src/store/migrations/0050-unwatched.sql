-- Why the source cannot be watched for now, so that its changes are found late; null: it is watched, or need not be.
alter table connections add column unwatched text;
