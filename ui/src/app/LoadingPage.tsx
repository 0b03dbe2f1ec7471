import { Loading } from '../parts/State.tsx';
import { TopBar } from './TopBar.tsx';

/** The frame of a page whose code is on its way. */
export const LoadingPage = () => (
  <>
    <TopBar />
    <main id="main" tabIndex={-1}>
      <div className="page">
        <Loading />
      </div>
    </main>
  </>
);
