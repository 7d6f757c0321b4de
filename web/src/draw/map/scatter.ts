// Draws a map of points over WebGL 2. Points are uploaded once; a frame changes the camera alone.

import { Program, openContext } from "../gpu/gl";
import { groundOf } from "../gpu/palettes";
import type { Camera, Points } from "./scattermath";

const vertex = `#version 300 es
layout(location = 0) in vec2 aPlace;
layout(location = 1) in vec4 aColor;
uniform vec3 uCamera;
uniform vec2 uSize;
uniform float uPoint;
out vec4 vColor;
void main() {
  vec2 at = vec2(aPlace.x * uCamera.x + uCamera.y, uCamera.z - aPlace.y * uCamera.x);
  gl_Position = vec4(2.0 * at.x / uSize.x - 1.0, 1.0 - 2.0 * at.y / uSize.y, 0.0, 1.0);
  gl_PointSize = uPoint * (1.0 + aColor.a);
  vColor = vec4(aColor.rgb, 1.0);
}`;

const fragment = `#version 300 es
precision mediump float;
in vec4 vColor;
out vec4 color;
void main() {
  if (length(gl_PointCoord - 0.5) > 0.5) discard;
  color = vColor;
}`;

const pointSize = 5;

export class Scatter {
  private readonly gl: WebGL2RenderingContext;
  private program: Program | undefined;
  private array: WebGLVertexArrayObject | null = null;
  private points: Points = { x: new Float32Array(), y: new Float32Array() };
  private colors = new Uint8Array();
  private camera: Camera = { scale: 1, dx: 0, dy: 0 };
  private handle = 0;
  private dark = false;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.gl = openContext(canvas);
    canvas.addEventListener("webglcontextlost", this.lost);
    canvas.addEventListener("webglcontextrestored", this.restored);
  }

  /** `colors`: red, green, blue and emphasis (0 or 255) of each point. */
  set(points: Points, colors: Uint8Array<ArrayBuffer>, dark: boolean): void {
    Object.assign(this, { points, colors, dark });
    this.upload();
    this.invalidate();
  }

  look(camera: Camera): void {
    this.camera = camera;
    this.invalidate();
  }

  invalidate(): void {
    if (this.handle === 0) this.handle = requestAnimationFrame(() => this.draw());
  }

  destroy(): void {
    cancelAnimationFrame(this.handle);
    this.canvas.removeEventListener("webglcontextlost", this.lost);
    this.canvas.removeEventListener("webglcontextrestored", this.restored);
    this.release();
  }

  private release(): void {
    this.gl.deleteVertexArray(this.array);
    for (const buffer of this.buffers) this.gl.deleteBuffer(buffer);
    this.buffers = [];
    this.array = null;
  }

  private buffers: WebGLBuffer[] = [];

  private upload(): void {
    const { gl, points } = this;
    if (gl.isContextLost()) return;
    this.program ??= new Program(gl, vertex, fragment);
    this.release();
    const places = new Float32Array(2 * points.x.length);
    for (let i = 0; i < points.x.length; i++) {
      places[2 * i] = points.x[i];
      places[2 * i + 1] = points.y[i];
    }
    this.array = gl.createVertexArray();
    gl.bindVertexArray(this.array);
    [places, this.colors].forEach((data, location) => {
      const buffer = gl.createBuffer();
      this.buffers.push(buffer);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, data as Uint8Array<ArrayBuffer>, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(location);
      if (location === 0) gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
      else gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 0, 0);
    });
    gl.bindVertexArray(null);
  }

  private draw(): void {
    this.handle = 0;
    const { gl, canvas, program, camera } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!program || gl.isContextLost() || width === 0 || height === 0) return;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    gl.viewport(0, 0, canvas.width, canvas.height);
    const [r, g, b] = groundOf(this.dark);
    gl.clearColor(r / 255, g / 255, b / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    program.use();
    gl.uniform3f(program.place("uCamera"), camera.scale, camera.dx, camera.dy);
    gl.uniform2f(program.place("uSize"), width, height);
    gl.uniform1f(program.place("uPoint"), pointSize * ratio);
    gl.bindVertexArray(this.array);
    gl.drawArrays(gl.POINTS, 0, this.points.x.length);
  }

  private readonly lost = (e: Event): void => {
    // Without this the context would not come back.
    e.preventDefault();
    this.program = undefined;
  };

  private readonly restored = (): void => {
    this.upload();
    this.invalidate();
  };
}
