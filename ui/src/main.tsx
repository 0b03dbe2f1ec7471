import { createRoot } from 'react-dom/client';
import '@fontsource-variable/inter/wght.css';
import '../../internal/web/assets/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/controls.css';
import './styles/content.css';
import './styles/note.css';
import './styles/inbox.css';
import { App } from './app/App.tsx';
import { goLive } from './data/live.ts';
import { speak } from './i18n/locale.ts';

await speak();
goLive();
createRoot(document.getElementById('root')!).render(<App />);
