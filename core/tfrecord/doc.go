// Package tfrecord reads TFRecord files of tf.train.Example and SequenceExample as columns of
// core/arrow, and writes records of examples.
//
// It owns the frames of records with their checksums, the wire format of examples, and the type of
// a column by its values. It opens no files, and knows neither datasets nor tensors.
//
// Files are hostile input: memory grows with the bytes that come, not with the lengths that a file
// states. FuzzRecords tries forged ones.
package tfrecord
