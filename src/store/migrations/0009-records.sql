-- What connectors remember of a partition beside its position: names and meaning are their own.
create table partition_records (
  connection_id text collate "C" not null,
  partition_id text collate "C" not null,
  name text collate "C" not null,
  value jsonb not null,
  primary key (connection_id, partition_id, name),
  foreign key (connection_id, partition_id) references partitions on delete cascade
);
