package main

import "encoding/binary"

// murmur2 is the hash by which Kafka's own clients choose a key's partition.
type murmur2 struct{ data []byte }

func (h *murmur2) Write(data []byte) (int, error) {
	h.data = append(h.data, data...)
	return len(data), nil
}

func (h *murmur2) Reset() { h.data = h.data[:0] }

func (h *murmur2) Size() int { return 4 }

func (h *murmur2) BlockSize() int { return 4 }

func (h *murmur2) Sum(before []byte) []byte { return binary.BigEndian.AppendUint32(before, h.Sum32()) }

// Sum32 has no sign bit, as the clients take none: goka would take the sign away by negation.
func (h *murmur2) Sum32() uint32 {
	const m, seed = 0x5bd1e995, 0x9747b28c
	left := h.data
	hash := uint32(seed) ^ uint32(len(left))
	for ; len(left) >= 4; left = left[4:] {
		k := binary.LittleEndian.Uint32(left) * m
		hash = hash*m ^ (k^k>>24)*m
	}
	if len(left) > 0 {
		for place := len(left) - 1; place >= 0; place-- {
			hash ^= uint32(left[place]) << (8 * place)
		}
		hash *= m
	}
	hash = (hash ^ hash>>13) * m
	return (hash ^ hash>>15) & 0x7fffffff
}
