export interface ContainerQuota {
  documents: number | null;
  bytes: number | null;
  requestsPerMinute: number | null;
}

export interface ContainerAnswer {
  quota: ContainerQuota;
  usage: { documents: number; bytes: number } | null;
}
