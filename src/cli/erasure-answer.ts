export interface ErasureBody {
  documents?: string[];
  containerTag?: string;
  deleted?: true;
  rewrite?: boolean;
}

export interface ErasureAnswer {
  id: string;
  status: 'removing' | 'rewriting' | 'completed';
  documents: number;
  memories: number;
  problem: string | null;
  left: string[];
}
