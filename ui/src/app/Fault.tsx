import { Component, type ReactNode } from 'react';
import { asApiError } from '../data/api.ts';
import { Failure } from '../parts/State.tsx';

/** Keeps a fault in one part from taking the whole app with it. */
export class Fault extends Component<{ children: ReactNode }, { thrown?: unknown }> {
  override state: { thrown?: unknown } = {};

  static getDerivedStateFromError(thrown: unknown) {
    return { thrown };
  }

  override render() {
    if (this.state.thrown === undefined) return this.props.children;
    return (
      <main className="main">
        <div className="page">
          <Failure error={asApiError(this.state.thrown)} again={() => location.reload()} />
        </div>
      </main>
    );
  }
}
