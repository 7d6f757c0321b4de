// Package annotations reads the annotations of pictures in the layouts of other programs: boxes,
// outlines, masks, keypoints, captions and classes.
//
// It owns what each layout is called, how it is recognized, how a picture finds its annotations,
// and the tensors that they fill. It reads files of a Source, and must not write rows, nor read
// pictures: those are core/ingest's. A layout is one line of formats and files of this package.
//
// Annotations are hostile input: files, values, objects of a picture and masks are bounded before
// memory is allocated. An object that cannot be taken costs itself, and gives a reason.
package annotations
