import { markWords } from '../mark-words.ts';

export function MarkedText({ text, query }: { text: string; query: string }) {
  return (
    <bdi>
      {markWords(text, query).map((part, index) =>
        part.isMatch ? <mark key={index}>{part.text}</mark> : <span key={index}>{part.text}</span>,
      )}
    </bdi>
  );
}
