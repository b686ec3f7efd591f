import { contextBridge, type IpcRendererEvent, ipcRenderer } from 'electron'
import { CHANNEL, type Command, type PanelApi, type Snapshot } from '../contract.ts'

// Three functions and no logic: the page never sees ipcRenderer, a channel name or an event.
const panel: PanelApi = {
  snapshot: () => ipcRenderer.invoke(CHANNEL.pull),
  command: (command: Command) => ipcRenderer.invoke(CHANNEL.invoke, command),
  subscribe(listener) {
    const hear = (_event: IpcRendererEvent, snapshot: Snapshot) => listener(snapshot)
    ipcRenderer.on(CHANNEL.snapshot, hear)
    return () => {
      ipcRenderer.removeListener(CHANNEL.snapshot, hear)
    }
  },
}

contextBridge.exposeInMainWorld('panel', panel)
