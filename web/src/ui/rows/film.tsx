// One video over the grid: the browser's player, the annotations of the frame on show, the facts of
// the video, and single frames by keyboard.

import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { messageOf } from "../../data/errors";
import { mediaOf } from "../../data/media";
import type { FrameTable, Tensor, Video } from "../../data/protocol";
import type { SampleRecord } from "../../data/records";
import type { SampleStore } from "../../data/samples";
import type { FilmLayer } from "../../draw/api";
import { formatBytes, formatDuration, formatNumber } from "../../draw/format";
import { planOf } from "../../draw/plan";
import { useApp, useModel } from "../hooks/app";
import { useAppearance } from "../hooks/appearance";
import { useSamples, useTask } from "../hooks/requests";
import type { Model } from "../model/model";
import { IconButton } from "../widgets/icons";
import { describe } from "../text/describe";
import { formatCount } from "../text/format";
import { Captions } from "./captions";
import { FrameItems } from "./items";
import { Timetable, watchFrames } from "./timetable";
import { RowTools, stepRow } from "./tools";

/** Actions of the keys on the player. */
interface Player {
  toggle(): void;
  step(by: 1 | -1): void;
}

interface Shown {
  store: SampleStore;
  row: number;
  tensor: Tensor;
  items: FrameItems;
  /** Annotations by frame may lie over the player. */
  annotated: boolean;
  /** Takes the player while it is there. */
  players: { current: Player | null };
}

export function FilmView({ store, tensor }: { store: SampleStore; tensor: Tensor }) {
  const model = useModel();
  const row = useApp((s) => s.place.row);
  const appearance = useAppearance();
  const players = useRef<Player | null>(null);
  const frame = useRef<HTMLDivElement>(null);
  const plan = useMemo(() => planOf(store.view, appearance), [store, appearance]);
  useSamples(store);
  useEffect(() => frame.current?.focus(), []);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const items = useMemo(() => new FrameItems(store, row, () => redraw(0)), [store, row]);
  useEffect(() => () => items.close(), [items]);
  useLayoutEffect(() => items.setAppearance(appearance), [items, appearance]);
  const onKeyDown = (e: KeyboardEvent): void => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const at = e.target instanceof Element ? e.target : null;
    // The browser handles arrow keys and space in a focused player.
    const inPlayer = at?.tagName === "VIDEO";
    if (inPlayer && (e.key === " " || e.key.startsWith("Arrow"))) return;
    if (e.key === "Escape") model.looks.setMode("grid");
    else if (e.key === "p" || e.key === "ArrowLeft") stepRow(model, store, -1);
    else if (e.key === "n" || e.key === "ArrowRight") stepRow(model, store, 1);
    else if (e.key === " " && !at?.closest("button, a")) players.current?.toggle();
    else if (e.key === ",") players.current?.step(-1);
    else if (e.key === ".") players.current?.step(1);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const annotated = plan.overlays.some((one) => one.tensor.sequence);
  const shown = { store, row, tensor, items, annotated, players };
  return (
    <div ref={frame} class="single film" data-testid="single" role="region" aria-label={`Row ${row}`} tabIndex={-1} onKeyDown={onKeyDown}>
      <RowTools store={store} row={row} back="grid" />
      {row < 0 ? null : store.view.videos ? <Served key={`${row} ${tensor.name}`} {...shown} />
        : <Stored key={`${row} ${tensor.name}`} {...shown} />}
      <Captions store={store} appearance={appearance} row={row} itemOf={(tensor) => items.itemOf(tensor)} />
    </div>
  );
}

/** A video whose file the server sends piece by piece. */
function Served(shown: Shown) {
  const { store, row, tensor } = shown;
  const model = useModel();
  const [attempt, setAttempt] = useState(0);
  const [fault, setFault] = useState("");
  // The address of a file ends when it is not used for a while: the next one resumes here.
  const resume = useRef<number | null>(null);
  const task = useTask((signal) => model.views.withView((view) => model.client.video(view.view, row, tensor.name, signal), signal),
    [store, row, tensor.name, attempt]);
  const video = task.value;
  const failed = async (): Promise<void> => {
    if (!video) return;
    const error = await model.client.videoFault(video.url);
    if (error && (error.kind === "denied" || error.unknownView) && attempt < 100) {
      setAttempt(attempt + 1);
    } else {
      setFault(error ? error.message : cannotPlay(video));
    }
  };
  if (task.error) return <p class="fault" role="alert">The video cannot be read: {task.error}</p>;
  if (!video) return <p class="empty">Opening…</p>;
  return (
    <>
      {fault ? <p class="fault" role="alert" data-testid="film-fault">{fault}</p>
        : <Playing key={video.url} {...shown} src={video.url} video={video} resume={resume} failed={() => void failed()} blind={() => setFault(cannotPlay(video))} />}
      <Facts video={video} />
    </>
  );
}

/** A video of an exported page. Its file is read as a whole, once that is wanted. */
function Stored(shown: Shown) {
  const { store, row, tensor } = shown;
  const model = useModel();
  const [asked, setAsked] = useState(false);
  const [fault, setFault] = useState("");
  const resume = useRef<number | null>(null);
  const sample = store.peek(row, tensor.name);
  const task = useTask(asked ? (signal) => model.views.withView((view) => readFile(model, view.view, row, tensor.name, signal), signal)
    : null, [store, row, tensor.name]);
  const url = useMemo(() => task.value && URL.createObjectURL(task.value), [task.value]);
  useEffect(() => () => {
    if (url) URL.revokeObjectURL(url);
  }, [url]);
  const problem = fault || task.error;
  return (
    <>
      {problem ? <p class="fault" role="alert" data-testid="film-fault">{problem}</p>
        : url ? <Playing key={url} {...shown} src={url} video={undefined} resume={resume} failed={() => setFault("This browser cannot play the file. Save it from the panel of the row, and open it in another player.")} />
          : <div class="film-offer">
            <p class="quiet">{describe(sample, tensor) || "…"}</p>
            {sample && ["large", "video", "picture"].includes(sample.kind) && <button type="button" class="plain" data-testid="film-load"
              disabled={asked} onClick={() => setAsked(true)}>{asked ? "Loading…" : "Load the file and play it"}</button>}
          </div>}
    </>
  );
}

function timesOf(model: Model, { row, tensor }: Pick<Shown, "row" | "tensor">, at: number): Promise<FrameTable> {
  return model.views.withView((view) => model.client.times(view.view, row, tensor.name, at));
}

async function readFile(model: Model, view: string, row: number, name: string, signal: AbortSignal): Promise<Blob> {
  const records: SampleRecord[] = [];
  await model.client.samples({ view, rows: [row], columns: [{ name }] }, (record) => records.push(record), signal);
  const [record] = records;
  if (record?.header.kind === "error") throw new Error(record.header.message ?? "it cannot be read");
  if (record?.header.kind !== "file") throw new Error("The file is too large to play here: files of up to 256 MiB are read.");
  return new Blob([record.body], { type: mediaOf(record.body) });
}

/** Names the codec and the kind of a file that a browser does not play, and the way out. */
export function cannotPlay({ codec, media }: Pick<Video, "codec" | "media">): string {
  return `This browser cannot play the file (${codec} in ${media}). Save it, and open it in another player.`;
}

interface PlayingProps extends Shown {
  src: string;
  /** Takes the seconds that were wanted last, where the next player begins; null: at those of the
   * address. A player that has failed is still sought by its user. */
  resume: { current: number | null };
  /** The browser does not play the file. */
  failed: () => void;
  /** The file plays without a picture. */
  blind?: () => void;
  /** Numbers the frames and their annotations; undefined: the video has no table. */
  video: Pick<FrameTable, "frames" | "duration" | "width" | "height"> | undefined;
}

function Playing(props: PlayingProps) {
  const { src, row, tensor, items, annotated, players, resume, failed, blind, video: of } = props;
  const model = useModel();
  const video = useRef<HTMLVideoElement>(null);
  const stage = useRef<HTMLDivElement>(null);
  const table = useMemo(() => of && new Timetable(of, (at) => timesOf(model, { row, tensor }, at)), [src]);
  const steps = useRef<Promise<void>>(Promise.resolve());
  const [frame, setFrame] = useState<number | undefined>(undefined);
  // The time of the frame on which the player has paused: its clock may have gone on. undefined: it
  // has been sought since, and its clock tells the frame.
  const stood = useRef<number | undefined>(undefined);
  const sought = useRef(true);
  // The browser has told of a frame since the last seek. It does not tell of one that came on show
  // before it was asked to, and of the same frame again.
  const told = useRef(false);
  const note = (at: HTMLVideoElement): void => {
    if (at.getAttribute("src") === src) resume.current = at.currentTime;
  };

  const seek = (): void => {
    sought.current = true;
    told.current = false;
    stood.current = undefined;
  };

  /** Shows the number of the frame on show, and keeps the time in the address. */
  const rest = async (): Promise<void> => {
    const at = video.current;
    if (!at || !at.paused || at.seeking) return;
    if (model.get().place.mode === "single") model.navigation.move({ time: Number(at.currentTime.toFixed(3)) });
    const shown = await table?.find(stood.current ?? at.currentTime);
    if (!at.paused || at.seeking) return;
    setFrame(shown);
    if (!told.current) items.show(shown);
  };
  const step = async (by: 1 | -1): Promise<void> => {
    const at = video.current;
    if (!at || !table) return;
    at.pause();
    const to = await table.step(at.seeking ? at.currentTime : stood.current ?? at.currentTime, by);
    if (to === undefined || !video.current) return;
    seek();
    video.current.currentTime = to;
  };
  const quietly = (work: Promise<void>): Promise<void> => work.catch((error: unknown) => model.say(messageOf(error)));

  useEffect(() => {
    const at = video.current;
    // The button that loaded the file was focused, and is removed.
    if (document.activeElement === document.body) at?.focus();
    players.current = {
      toggle: () => void (at?.paused ? at.play().catch(() => undefined) : at?.pause()),
      // Steps wait for each other: the times of the first may have to come.
      step: (by) => void (steps.current = steps.current.then(() => quietly(step(by)))),
    };
    return () => {
      players.current = null;
      // Ends the requests of the player.
      at?.removeAttribute("src");
      at?.load();
    };
  }, []);
  useLayoutEffect(() => {
    const at = video.current;
    if (!at || !of || !table) return;
    items.setFrames({ count: of.frames, width: of.width, height: of.height });
    let last = 0;
    const follow = (time: number): void => {
      last = time;
      told.current = true;
      if (!sought.current) stood.current = time;
      const shown = table.follow(time, () => follow(last));
      items.show(shown);
      if (at.paused && !at.seeking && shown !== undefined) setFrame(shown);
    };
    const end = watchFrames(at, follow);
    return () => {
      end();
      items.setFrames(undefined);
    };
  }, [items, table]);
  return (
    <>
      <div ref={stage} class="film-stage">
        <video ref={video} class="film-player" data-testid="film" src={src} controls playsInline tabIndex={0} preload="metadata"
          aria-label={`${tensor.name} of row ${row}`} {...(annotated && of ? { controlsList: "nofullscreen" } : {})}
          onLoadedMetadata={(e) => {
            const at = e.currentTarget;
            const from = resume.current ?? model.get().place.time;
            if (at.videoWidth === 0) blind?.();
            else if (from > 0) at.currentTime = from;
            else void quietly(rest());
          }}
          onSeeking={(e) => {
            seek();
            note(e.currentTarget);
          }} onTimeUpdate={(e) => e.currentTarget.error || note(e.currentTarget)}
          onPlay={() => {
            sought.current = false;
            setFrame(undefined);
          }}
          onPause={() => void quietly(rest())} onSeeked={() => void quietly(rest())}
          onError={(e) => {
            if (e.currentTarget.getAttribute("src")) failed();
          }} />
        {annotated && of && <Annotations items={items} video={video} size={of} />}
      </div>
      {of && <div class="film-line">
        <p class="film-frame quiet" data-testid="film-frame" aria-live="polite">
          {frame === undefined ? "" : `frame ${frame.toLocaleString("en")} of ${of.frames.toLocaleString("en")}`}</p>
        {items.faults.map((text) => <p key={text} class="quiet" role="status" data-testid="film-undrawn">{text}</p>)}
        {annotated && document.fullscreenEnabled && <IconButton icon="fit" label="Full screen"
          onClick={() => void stage.current?.requestFullscreen().catch(() => undefined)} />}
      </div>}
    </>
  );
}

/** The annotations of the frame on show, over the player. */
function Annotations({ items, video, size }: {
  items: FrameItems; video: { current: HTMLVideoElement | null }; size: Pick<FrameTable, "width" | "height">;
}) {
  const model = useModel();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [fault, setFault] = useState("");
  useLayoutEffect(() => {
    const at = video.current;
    if (!canvas.current || !at) return;
    let layer: FilmLayer;
    try {
      layer = model.drawing.openFilm(canvas.current);
    } catch (error) {
      setFault(messageOf(error));
      return;
    }
    items.setLayer(layer);
    const fit = (): void => layer.setSizes(size, { width: at.videoWidth, height: at.videoHeight });
    const move = (e: PointerEvent): void => model.hover(layer.at(e.offsetX, e.offsetY));
    const leave = (): void => model.hover(null);
    const listeners = [["loadedmetadata", fit], ["resize", fit], ["pointermove", move], ["pointerleave", leave]] as const;
    for (const [name, listener] of listeners) at.addEventListener(name, listener as EventListener);
    fit();
    return () => {
      for (const [name, listener] of listeners) at.removeEventListener(name, listener as EventListener);
      items.setLayer(null);
      layer.destroy();
      leave();
    };
  }, [items]);
  return (
    <>
      <canvas ref={canvas} class="film-layer" data-testid="film-layer" aria-hidden="true" />
      {fault && <p class="fault" role="alert">Annotations cannot be drawn here: {fault}</p>}
    </>
  );
}

function Facts({ video }: { video: Video }) {
  const facts: [string, string][] = [
    ["codec", video.codec],
    ["size", `${video.width} × ${video.height}`],
    ["frames", `${video.frames.toLocaleString("en")}, ${formatCount(video.key_frames, "key frame")}`],
    ["duration", formatDuration(video.duration - video.begin)],
    ["rate", `${formatNumber(Number(video.fps.toFixed(3)))} fps`],
    ["file", `${formatBytes(video.bytes)}, ${video.media}`],
  ];
  return (
    <div class="film-facts">
      <dl data-testid="film-facts">{facts.map(([name, value]) => <div key={name}><dt class="quiet">{name}</dt><dd>{value}</dd></div>)}</dl>
      <a class="plain" href={video.url} download={video.name} data-testid="film-save">Save the file</a>
    </div>
  );
}
