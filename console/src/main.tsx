import { render } from 'preact';
import './tokens.css';

render(<h1>memoryd</h1>, document.getElementById('console')!);
