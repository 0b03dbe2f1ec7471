import { createContext, useContext } from 'react';

/** What can lie over every page. */
export type Layer = 'palette' | 'keys' | 'navigation';

export const Layers = createContext<(layer: Layer) => void>(() => {});

/** Opens a layer of the shell. */
export const useLayers = () => useContext(Layers);
