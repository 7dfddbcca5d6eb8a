/** How something stands, as its colour shows. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'quiet';
