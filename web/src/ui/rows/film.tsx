// One video over the grid: the browser's player, its facts, and single frames by keyboard.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { messageOf } from "../../data/errors";
import { mediaOf } from "../../data/media";
import type { FrameTimes, Tensor, Video } from "../../data/protocol";
import type { SampleRecord } from "../../data/records";
import type { SampleStore } from "../../data/samples";
import { formatBytes, formatDuration, formatNumber } from "../../draw/format";
import { planOf } from "../../draw/plan";
import { useApp, useModel } from "../hooks/app";
import { useAppearance } from "../hooks/appearance";
import { useSamples, useTask } from "../hooks/requests";
import type { Model } from "../model/model";
import { describe } from "../text/describe";
import { formatCount } from "../text/format";
import { Captions } from "./captions";
import { frameAt, stepFrom } from "./frames";
import { RowTools, stepRow } from "./tools";

/** Of the picture that comes with the facts, for the panel. */
const pixels = 256;
const owner = "film";

/** Actions of the keys on the player. */
interface Player {
  toggle(): void;
  step(by: 1 | -1): void;
}

interface Shown {
  store: SampleStore;
  row: number;
  tensor: Tensor;
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
  useEffect(() => {
    const columns = plan.columns.map(({ name, sized }) => ({ name, pixels: sized ? pixels : 0 }));
    store.want(row < 0 ? [] : [{ rows: [row], columns }], owner);
    return () => store.want([], owner);
  }, [store, row, plan]);
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
  const shown = { store, row, tensor, players };
  return (
    <div ref={frame} class="single film" data-testid="single" role="region" aria-label={`Row ${row}`} tabIndex={-1} onKeyDown={onKeyDown}>
      <RowTools store={store} row={row} back="grid" />
      {row < 0 ? null : store.view.videos ? <Served key={`${row} ${tensor.name}`} {...shown} />
        : <Stored key={`${row} ${tensor.name}`} {...shown} />}
      <Captions store={store} appearance={appearance} row={row} item={0} />
    </div>
  );
}

/** A video whose file the server sends piece by piece. */
function Served({ store, row, tensor, players }: Shown) {
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
  const times = async (at: number): Promise<FrameTimes> =>
    model.views.withView((view) => model.client.times(view.view, row, tensor.name, at));
  if (task.error) return <p class="fault" role="alert">The video cannot be read: {task.error}</p>;
  if (!video) return <p class="empty">Opening…</p>;
  return (
    <>
      {fault ? <p class="fault" role="alert" data-testid="film-fault">{fault}</p>
        : <Playing key={video.url} src={video.url} length={video} times={times} players={players} resume={resume}
          label={`${tensor.name} of row ${row}`} failed={() => void failed()} blind={() => setFault(cannotPlay(video))} />}
      <Facts video={video} />
    </>
  );
}

/** A video of an exported page. Its file is read as a whole, once that is wanted. */
function Stored({ store, row, tensor, players }: Shown) {
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
        : url ? <Playing key={url} src={url} players={players} resume={resume} label={`${tensor.name} of row ${row}`}
          failed={() => setFault("This browser cannot play the file. Save it from the panel of the row, and open it in another player.")} />
          : <div class="film-offer">
            <p class="quiet">{describe(sample, tensor) || "…"}</p>
            {sample && ["large", "video", "picture"].includes(sample.kind) && <button type="button" class="plain" data-testid="film-load"
              disabled={asked} onClick={() => setAsked(true)}>{asked ? "Loading…" : "Load the file and play it"}</button>}
          </div>}
    </>
  );
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

interface PlayingProps {
  src: string;
  label: string;
  players: Shown["players"];
  /** Takes the seconds that were wanted last, where the next player begins; null: at those of the
   * address. A player that has failed is still sought by its user. */
  resume: { current: number | null };
  /** The browser does not play the file. */
  failed: () => void;
  /** The file plays without a picture. */
  blind?: () => void;
  /** For single frames. */
  length?: { frames: number; duration: number };
  times?: (at: number) => Promise<FrameTimes>;
}

function Playing({ src, label, players, resume, failed, blind, length, times }: PlayingProps) {
  const model = useModel();
  const video = useRef<HTMLVideoElement>(null);
  const known = useRef<FrameTimes | undefined>(undefined);
  const steps = useRef<Promise<void>>(Promise.resolve());
  const [frame, setFrame] = useState<number | undefined>(undefined);
  const note = (at: HTMLVideoElement): void => {
    if (at.getAttribute("src") === src) resume.current = at.currentTime;
  };

  /** Shows the number of the frame on show, and keeps the time in the address. */
  const rest = async (): Promise<void> => {
    const at = video.current;
    if (!at || !at.paused || at.seeking) return;
    if (model.get().place.mode === "single") model.navigation.move({ time: Number(at.currentTime.toFixed(3)) });
    if (!length || !times) return;
    if (frameAt(known.current, length, at.currentTime) === undefined) known.current = await times(at.currentTime);
    setFrame(frameAt(known.current, length, at.currentTime));
  };
  const step = async (by: 1 | -1): Promise<void> => {
    const at = video.current;
    if (!at || !length || !times) return;
    at.pause();
    let to = stepFrom(known.current, length, at.currentTime, by);
    if (to === undefined) {
      known.current = await times(at.currentTime);
      to = stepFrom(known.current, length, at.currentTime, by);
    }
    if (to !== undefined && video.current) video.current.currentTime = to;
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
  return (
    <>
      <video ref={video} class="film-player" data-testid="film" src={src} controls playsInline tabIndex={0} preload="metadata" aria-label={label}
        onLoadedMetadata={(e) => {
          const at = e.currentTarget;
          const from = resume.current ?? model.get().place.time;
          if (at.videoWidth === 0) blind?.();
          else if (from > 0) at.currentTime = from;
          else void quietly(rest());
        }}
        onSeeking={(e) => note(e.currentTarget)} onTimeUpdate={(e) => e.currentTarget.error || note(e.currentTarget)}
        onPlay={() => setFrame(undefined)} onPause={() => void quietly(rest())} onSeeked={() => void quietly(rest())}
        onError={(e) => {
          if (e.currentTarget.getAttribute("src")) failed();
        }} />
      {length && <p class="film-frame quiet" data-testid="film-frame" aria-live="polite">
        {frame === undefined ? "" : `frame ${frame.toLocaleString("en")} of ${length.frames.toLocaleString("en")}`}</p>}
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
