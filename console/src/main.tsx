import { render } from 'preact';
import './tokens.css';
import './page.css';
import './parts.css';
import './screens.css';
import { followKeyboard } from './keyboard.ts';
import { followRoute } from './route.ts';
import { resume } from './session.ts';
import { Shell } from './shell.tsx';

followRoute();
followKeyboard();
void resume();
render(<Shell />, document.getElementById('console')!);
