;; Scalar products of one vector with many that lie one behind the other. All addresses and $bytes, the length of a
;; vector, are in bytes; $bytes is a multiple of 32. The results are 32-bit numbers from $results on.
(module
  (memory (export "memory") 1)
  (func (export "products")
    (param $vectors i32) (param $query i32) (param $bytes i32) (param $count i32) (param $results i32)
    (local $end i32) (local $at i32) (local $sum v128) (local $other v128)
    (block $done
      (loop $each
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $sum (v128.const i32x4 0 0 0 0))
        (local.set $other (v128.const i32x4 0 0 0 0))
        (local.set $at (local.get $query))
        (local.set $end (i32.add (local.get $query) (local.get $bytes)))
        (loop $along
          (local.set $sum (f32x4.add (local.get $sum)
            (f32x4.mul (v128.load (local.get $vectors)) (v128.load (local.get $at)))))
          (local.set $other (f32x4.add (local.get $other)
            (f32x4.mul (v128.load offset=16 (local.get $vectors)) (v128.load offset=16 (local.get $at)))))
          (local.set $vectors (i32.add (local.get $vectors) (i32.const 32)))
          (local.set $at (i32.add (local.get $at) (i32.const 32)))
          (br_if $along (i32.lt_u (local.get $at) (local.get $end))))
        (local.set $sum (f32x4.add (local.get $sum) (local.get $other)))
        (f32.store (local.get $results)
          (f32.add
            (f32.add (f32x4.extract_lane 0 (local.get $sum)) (f32x4.extract_lane 1 (local.get $sum)))
            (f32.add (f32x4.extract_lane 2 (local.get $sum)) (f32x4.extract_lane 3 (local.get $sum)))))
        (local.set $results (i32.add (local.get $results) (i32.const 4)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $each)))))
