package png
import ("testing";"os";"path/filepath";"deeplake/core/codec")
func BenchmarkFiles(b *testing.B){
 ps,_:=filepath.Glob(os.Getenv("PNGS")); var fs [][]byte
 for _,p:=range ps { f,_:=os.ReadFile(p); fs=append(fs,f)}
 d:=New().NewDecoder(); dst:=make([]byte,16<<20)
 for i:=0;b.Loop();i++ { f:=fs[i%len(fs)]; h,err:=New().Header(f,codec.AsStored); if err!=nil {b.Fatal(err)}
  n,_:=h.Shape.Bytes(h.DType); if err:=d.Decode(dst[:n],f,codec.AsStored);err!=nil {b.Fatal(err)} }
}
