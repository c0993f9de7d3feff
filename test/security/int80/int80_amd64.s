#include "textflag.h"

// func call(number, a, b uint32) int32
TEXT ·call(SB), NOSPLIT, $0-20
	MOVL number+0(FP), AX
	MOVL a+4(FP), BX
	MOVL b+8(FP), CX
	INT  $0x80
	MOVL AX, ret+16(FP)
	RET
