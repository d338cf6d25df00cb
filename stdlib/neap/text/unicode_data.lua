--- unicode_data.lua: tables of Unicode 16.0.0, written by tools/unicode_tables.py, which says how to read them.
local data = {}

data.categories = [[
w=Cc 1=Zs 3=Po 1=Sc 3=Po 1=Ps 1=Pe 1=Po 1=Sm 1=Po 1=Pd 2=Po a=Nd 2=Po 3=Sm 2=Po q=Lu 1=Ps 1=Po 1=Pe 1=Sk 1=Pc 1=Sk
q=Ll 1=Ps 1=Sm 1=Pe 1=Sm x=Cc 1=Zs 1=Po 4=Sc 1=So 1=Po 1=Sk 1=So 1=Lo 1=Pi 1=Sm 1=Cf 1=So 1=Sk 1=So 1=Sm 2=No 1=Sk
1=Ll 2=Po 1=Sk 1=No 1=Lo 1=Pf 3=No 1=Po n=Lu 1=Sm 7=Lu o=Ll 1=Sm 8=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
2=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 2=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 2=Lu 1=Ll 1=Lu 1=Ll 1=Lu 3=Ll
2=Lu 1=Ll 1=Lu 1=Ll 2=Lu 1=Ll 3=Lu 2=Ll 4=Lu 1=Ll 2=Lu 1=Ll 3=Lu 3=Ll 2=Lu 1=Ll 2=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 2=Lu
1=Ll 1=Lu 2=Ll 1=Lu 1=Ll 2=Lu 1=Ll 3=Lu 1=Ll 1=Lu 1=Ll 2=Lu 2=Ll 1=Lo 1=Lu 3=Ll 4=Lo 1=Lu 1=Lt 1=Ll 1=Lu 1=Lt 1=Ll
1=Lu 1=Lt 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 2=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 2=Ll 1=Lu 1=Lt 1=Ll 1=Lu 1=Ll 3=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 7=Ll 2=Lu 1=Ll 2=Lu 2=Ll 1=Lu 1=Ll 4=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1x=Ll 1=Lo r=Ll i=Lm 4=Sk c=Lm e=Sk 5=Lm 7=Sk 1=Lm 1=Sk 1=Lm h=Sk 34=Mn 1=Lu 1=Ll 1=Lu 1=Ll 1=Lm 1=Sk
1=Lu 1=Ll 2 1=Lm 3=Ll 1=Po 1=Lu 4 2=Sk 1=Lu 1=Po 3=Lu 1 1=Lu 1 2=Lu 1=Ll h=Lu 1 9=Lu z=Ll 1=Lu 2=Ll 3=Lu 3=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 5=Ll
1=Lu 1=Ll 1=Sm 1=Lu 1=Ll 2=Lu 2=Ll 1f=Lu 1c=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=So 5=Mn
2=Me 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 2=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 2=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1 12=Lu 2 1=Lm 6=Po 15=Ll 1=Po 1=Pd 2 2=So 1=Sc 1 19=Mn 1=Pd 1=Mn 1=Po 2=Mn 1=Po 2=Mn 1=Po 1=Mn
8 r=Lo 4 4=Lo 2=Po b 6=Cf 3=Sm 2=Po 1=Sc 2=Po 2=So b=Mn 1=Po 1=Cf 3=Po w=Lo 1=Lm a=Lo l=Mn a=Nd 4=Po 2=Lo 1=Mn
2r=Lo 1=Po 1=Lo 7=Mn 1=Cf 1=So 6=Mn 2=Lm 2=Mn 1=So 4=Mn 2=Lo a=Nd 3=Lo 2=So 1=Lo e=Po 1 1=Cf 1=Lo 1=Mn u=Lo r=Mn 2
2h=Lo b=Mn 1=Lo e a=Nd x=Lo 9=Mn 2=Lm 1=So 3=Po 1=Lm 2 1=Mn 2=Sc m=Lo 4=Mn 1=Lm 9=Mn 1=Lm 3=Mn 1=Lm 5=Mn 2 f=Po 1
p=Lo 3=Mn 2 1=Po 1 b=Lo 5 o=Lo 1=Sk 6=Lo 1 2=Cf 5 9=Mn 15=Lo 1=Lm o=Mn 1=Cf w=Mn 1=Mc 1i=Lo 1=Mn 1=Mc 1=Mn 1=Lo
3=Mc 8=Mn 4=Mc 1=Mn 2=Mc 1=Lo 7=Mn a=Lo 2=Mn 2=Po a=Nd 1=Po 1=Lm f=Lo 1=Mn 2=Mc 1 8=Lo 2 2=Lo 2 m=Lo 1 7=Lo 1 1=Lo
3 4=Lo 2 1=Mn 1=Lo 3=Mc 4=Mn 2 2=Mc 2 2=Mc 1=Mn 1=Lo 8 1=Mc 4 2=Lo 1 3=Lo 2=Mn 2 a=Nd 2=Lo 2=Sc 6=No 1=So 1=Sc 1=Lo
1=Po 1=Mn 2 2=Mn 1=Mc 1 6=Lo 4 2=Lo 2 m=Lo 1 7=Lo 1 2=Lo 1 2=Lo 1 2=Lo 2 1=Mn 1 3=Mc 2=Mn 4 2=Mn 2 3=Mn 3 1=Mn 7
4=Lo 1 1=Lo 7 a=Nd 2=Mn 3=Lo 1=Mn 1=Po a 2=Mn 1=Mc 1 9=Lo 1 3=Lo 1 m=Lo 1 7=Lo 1 2=Lo 1 5=Lo 2 1=Mn 1=Lo 3=Mc 5=Mn
1 2=Mn 1=Mc 1 2=Mc 1=Mn 2 1=Lo f 2=Lo 2=Mn 2 a=Nd 1=Po 1=Sc 7 1=Lo 6=Mn 1 1=Mn 2=Mc 1 8=Lo 2 2=Lo 2 m=Lo 1 7=Lo 1
2=Lo 1 5=Lo 2 1=Mn 1=Lo 1=Mc 1=Mn 1=Mc 4=Mn 2 2=Mc 2 2=Mc 1=Mn 7 2=Mn 1=Mc 4 2=Lo 1 3=Lo 2=Mn 2 a=Nd 1=So 1=Lo 6=No
a 1=Mn 1=Lo 1 6=Lo 3 3=Lo 1 4=Lo 3 2=Lo 1 1=Lo 1 2=Lo 3 2=Lo 3 3=Lo 3 c=Lo 4 2=Mc 1=Mn 2=Mc 3 3=Mc 1 3=Mc 1=Mn 2
1=Lo 6 1=Mc e a=Nd 3=No 6=So 1=Sc 1=So 5 1=Mn 3=Mc 1=Mn 8=Lo 1 3=Lo 1 n=Lo 1 g=Lo 2 1=Mn 1=Lo 3=Mn 4=Mc 1 3=Mn 1
4=Mn 7 2=Mn 1 3=Lo 2 1=Lo 2 2=Lo 2=Mn 2 a=Nd 7 1=Po 7=No 1=So 1=Lo 1=Mn 2=Mc 1=Po 8=Lo 1 3=Lo 1 n=Lo 1 a=Lo 1 5=Lo
2 1=Mn 1=Lo 1=Mc 1=Mn 5=Mc 1 1=Mn 2=Mc 1 2=Mc 2=Mn 7 2=Mc 6 2=Lo 1 2=Lo 2=Mn 2 a=Nd 1 2=Lo 1=Mc c 2=Mn 2=Mc 9=Lo 1
3=Lo 1 15=Lo 2=Mn 1=Lo 3=Mc 4=Mn 1 3=Mc 1 3=Mc 1=Mn 1=Lo 1=So 4 3=Lo 1=Mc 7=No 3=Lo 2=Mn 2 a=Nd 9=No 1=So 6=Lo 1
1=Mn 2=Mc 1 i=Lo 3 o=Lo 1 9=Lo 1 1=Lo 2 7=Lo 3 1=Mn 4 3=Mc 3=Mn 1 1=Mn 1 8=Mc 6 a=Nd 2 2=Mc 1=Po c 1c=Lo 1=Mn 2=Lo
7=Mn 4 1=Sc 6=Lo 1=Lm 8=Mn 1=Po a=Nd 2=Po 11 2=Lo 1 1=Lo 1 5=Lo 1 o=Lo 1 1=Lo 1 a=Lo 1=Mn 2=Lo 9=Mn 1=Lo 2 5=Lo 1
1=Lm 1 7=Mn 1 a=Nd 2 4=Lo w 1=Lo 3=So f=Po 1=So 1=Po 3=So 2=Mn 6=So a=Nd a=No 1=So 1=Mn 1=So 1=Mn 1=So 1=Mn 1=Ps
1=Pe 1=Ps 1=Pe 2=Mc 8=Lo 1 10=Lo 4 e=Mn 1=Mc 5=Mn 1=Po 2=Mn 5=Lo b=Mn 1 10=Mn 1 8=So 1=Mn 6=So 1 2=So 5=Po 4=So
2=Po 11 17=Lo 2=Mc 4=Mn 1=Mc 6=Mn 1=Mc 2=Mn 2=Mc 2=Mn 1=Lo a=Nd 6=Po 6=Lo 2=Mc 2=Mn 4=Lo 3=Mn 1=Lo 3=Mc 2=Lo 7=Mc
3=Lo 4=Mn d=Lo 1=Mn 2=Mc 2=Mn 6=Mc 1=Mn 1=Lo 1=Mc a=Nd 3=Mc 1=Mn 2=So 12=Lu 1 1=Lu 5 1=Lu 2 17=Ll 1=Po 1=Lm 3=Ll
95=Lo 1 4=Lo 2 7=Lo 1 1=Lo 1 4=Lo 2 15=Lo 1 4=Lo 2 x=Lo 1 4=Lo 2 7=Lo 1 1=Lo 1 4=Lo 2 f=Lo 1 1l=Lo 1 4=Lo 2 1v=Lo 2
3=Mn 9=Po k=No 3 g=Lo a=So 6 2e=Lu 2 6=Ll 2 1=Pd h8=Lo 1=So 1=Po h=Lo 1=Zs q=Lo 1=Ps 1=Pe 3 23=Lo 3=Po 3=Nl 8=Lo 7
i=Lo 3=Mn 1=Mc 9 j=Lo 2=Mn 1=Mc 2=Po 9 i=Lo 2=Mn c d=Lo 1 3=Lo 1 2=Mn c 1g=Lo 2=Mn 1=Mc 7=Mn 8=Mc 1=Mn 2=Mc b=Mn
3=Po 1=Lm 3=Po 1=Sc 1=Lo 1=Mn 2 a=Nd 6 a=No 6 6=Po 1=Pd 4=Po 3=Mn 1=Cf 1=Mn a=Nd 6 z=Lo 1=Lm 1h=Lo 7 5=Lo 2=Mn y=Lo
1=Mn 1=Lo 5 1y=Lo a v=Lo 1 3=Mn 4=Mc 2=Mn 3=Mc 4 2=Mc 1=Mn 6=Mc 3=Mn 4 1=So 3 2=Po a=Nd u=Lo 2 5=Lo b 18=Lo 4 q=Lo
6 a=Nd 1=No 3 y=So n=Lo 2=Mn 2=Mc 1=Mn 2 2=Po 1h=Lo 1=Mc 1=Mn 1=Mc 7=Mn 1 1=Mn 1=Mc 1=Mn 2=Mc 8=Mn 6=Mc a=Mn 2 1=Mn
a=Nd 6 a=Nd 6 7=Po 1=Lm 6=Po 2 e=Mn 1=Me g=Mn 1d 4=Mn 1=Mc 1b=Lo 1=Mn 1=Mc 5=Mn 1=Mc 1=Mn 5=Mc 1=Mn 2=Mc 8=Lo 1
2=Po a=Nd 7=Po a=So 9=Mn 9=So 3=Po 2=Mn 1=Mc u=Lo 1=Mc 4=Mn 2=Mc 2=Mn 1=Mc 3=Mn 2=Lo a=Nd 18=Lo 1=Mn 1=Mc 2=Mn 3=Mc
1=Mn 1=Mc 3=Mn 2=Mc 8 4=Po 10=Lo 8=Mc 8=Mn 2=Mc 2=Mn 3 5=Po a=Nd 3 3=Lo a=Nd u=Lo 6=Lm 2=Po 9=Ll 1=Lu 1=Ll 5 17=Lu
2 3=Lu 8=Po 8 3=Mn 1=Po d=Mn 1=Mc 7=Mn 4=Lo 1=Mn 6=Lo 1=Mn 2=Lo 1=Mc 2=Mn 1=Lo 5 18=Ll 1r=Lm d=Ll 1=Lm y=Ll 11=Lm
1s=Mn 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 9=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 9=Ll 8=Lu 6=Ll 2 6=Lu 2
8=Ll 8=Lu 8=Ll 8=Lu 6=Ll 2 6=Lu 2 8=Ll 1 1=Lu 1 1=Lu 1 1=Lu 1 1=Lu 8=Ll 8=Lu e=Ll 2 8=Ll 8=Lt 8=Ll 8=Lt 8=Ll 8=Lt
5=Ll 1 2=Ll 4=Lu 1=Lt 1=Sk 1=Ll 3=Sk 3=Ll 1 2=Ll 4=Lu 1=Lt 3=Sk 4=Ll 2 2=Ll 4=Lu 1 3=Sk 8=Ll 5=Lu 3=Sk 2 3=Ll 1
2=Ll 4=Lu 1=Lt 2=Sk 1 b=Zs 5=Cf 6=Pd 2=Po 1=Pi 1=Pf 1=Ps 2=Pi 1=Pf 1=Ps 1=Pi 8=Po 1=Zl 1=Zp 5=Cf 1=Zs 9=Po 1=Pi
1=Pf 4=Po 2=Pc 3=Po 1=Sm 1=Ps 1=Pe b=Po 1=Sm 1=Po 1=Pc a=Po 1=Zs 5=Cf 1 a=Cf 1=No 1=Lm 2 6=No 3=Sm 1=Ps 1=Pe 1=Lm
a=No 3=Sm 1=Ps 1=Pe 1 d=Lm 3 x=Sc f d=Mn 4=Me 1=Mn 3=Me c=Mn f 2=So 1=Lu 4=So 1=Lu 2=So 1=Ll 3=Lu 2=Ll 3=Lu 1=Ll
1=So 1=Lu 2=So 1=Sm 5=Lu 6=So 1=Lu 1=So 1=Lu 1=So 1=Lu 1=So 4=Lu 1=So 1=Ll 4=Lu 1=Ll 4=Lo 1=Ll 2=So 2=Ll 2=Lu 5=Sm
1=Lu 4=Ll 1=So 1=Sm 2=So 1=Ll 1=So g=No z=Nl 1=Lu 1=Ll 4=Nl 1=No 2=So 4 5=Sm 5=So 2=Sm 4=So 1=Sm 2=So 1=Sm 2=So
1=Sm 7=So 1=Sm v=So 2=Sm 2=So 1=Sm 1=So 1=Sm v=So 7g=Sm 8=So 1=Ps 1=Pe 1=Ps 1=Pe k=So 2=Sm 7=So 1=Ps 1=Pe 29=So
1=Sm u=So p=Sm 14=So 6=Sm 20=So m b=So l 1o=No 26=So m=No 53=So 1=Sm 9=So 1=Sm 1i=So 8=Sm 33=So 1=Sm 6w=So 1=Ps
1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe u=No 18=So 5=Sm 1=Ps 1=Pe v=Sm 1=Ps 1=Pe 1=Ps 1=Pe
1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe g=Sm 74=So 3n=Sm 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps
1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1r=Sm 1=Ps 1=Pe 1=Ps 1=Pe w=Sm 1=Ps 1=Pe 76=Sm 1c=So l=Sm 2=So 6=Sm
13=So 2 w=So 1 2x=So 1c=Lu 1c=Ll 1=Lu 1=Ll 3=Lu 2=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 4=Lu 1=Ll 1=Lu 2=Ll 1=Lu 6=Ll
2=Lm 3=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 2=Ll 6=So 1=Lu 1=Ll 1=Lu 1=Ll 3=Mn 1=Lu 1=Ll 5 4=Po 1=No 2=Po 12=Ll 1 1=Ll
5 1=Ll 2 1k=Lo 7 1=Lm 1=Po e 1=Mn n=Lo 9 7=Lo 1 7=Lo 1 7=Lo 1 7=Lo 1 7=Lo 1 7=Lo 1 7=Lo 1 7=Lo 1 w=Mn 2=Po 1=Pi
1=Pf 1=Pi 1=Pf 3=Po 1=Pi 1=Pf 1=Po 1=Pi 1=Pf 9=Po 1=Pd 2=Po 1=Pd 1=Po 1=Pi 1=Pf 2=Po 1=Pi 1=Pf 1=Ps 1=Pe 1=Ps 1=Pe
1=Ps 1=Pe 1=Ps 1=Pe 5=Po 1=Lm a=Po 2=Pd 4=Po 1=Pd 1=Po 1=Ps d=Po 2=So 3=Po 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe
1=Pd y q=So 1 2h=So c 5y=So q g=So 1=Zs 3=Po 1=So 1=Lm 1=Lo 1=Nl 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe
2=So 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Pd 1=Ps 2=Pe 1=So 9=Nl 4=Mn 2=Mc 1=Pd 5=Lm 2=So 3=Nl 1=Lm 1=Lo 1=Po
2=So 1 2e=Lo 2 2=Mn 2=Sk 2=Lm 1=Lo 1=Pd 2i=Lo 1=Po 3=Lm 1=Lo 5 17=Lo 1 2m=Lo 1 2=So 4=No a=So w=Lo 12=So 9 1=So
g=Lo v=So 1 a=No u=So 8=No 1=So f=No w=So a=No 13=So f=No 8w=So 534=Lo 1s=So g7p=Lo 1=Lm vr=Lo 3 1j=So 9 14=Lo 6=Lm
2=Po 7g=Lo 1=Lm 3=Po g=Lo a=Nd 2=Lo k 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lo 1=Mn 3=Me 1=Po a=Mn 1=Po 1=Lm 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 2=Lm 2=Mn 1y=Lo
a=Nl 2=Mn 6=Po 8 n=Sk 9=Lm 2=Sk 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 3=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lm 8=Ll 1=Lu 1=Ll 1=Lu 1=Ll 2=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lm 2=Sk 1=Lu 1=Ll 1=Lu 1=Ll 1=Lo 1=Lu 1=Ll 1=Lu 3=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu
1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 5=Lu 1=Ll 5=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 1=Lu 1=Ll 4=Lu 1=Ll 1=Lu 1=Ll 2=Lu 1=Ll 2 1=Lu 1=Ll 1 1=Ll 1 1=Ll 1=Lu 1=Ll
1=Lu 1=Ll 1=Lu 1=Ll 1=Lu l 3=Lm 1=Lu 1=Ll 1=Lo 2=Lm 1=Ll 7=Lo 1=Mn 3=Lo 1=Mn 4=Lo 1=Mn n=Lo 2=Mc 2=Mn 1=Mc 4=So
1=Mn 3 6=No 2=So 1=Sc 1=So 6 1g=Lo 4=Po 8 2=Mc 1e=Lo g=Mc 2=Mn 8 2=Po a=Nd 6 i=Mn 6=Lo 3=Po 1=Lo 1=Po 2=Lo 1=Mn
a=Nd s=Lo 8=Mn 2=Po n=Lo b=Mn 2=Mc b 1=Po t=Lo 3 3=Mn 1=Mc 1b=Lo 1=Mn 2=Mc 4=Mn 2=Mc 2=Mn 3=Mc d=Po 1 1=Lm a=Nd 4
2=Po 5=Lo 1=Mn 1=Lm 9=Lo a=Nd 5=Lo 1 15=Lo 6=Mn 2=Mc 2=Mn 2=Mc 2=Mn 9 3=Lo 1=Mn 8=Lo 1=Mn 1=Mc 2 a=Nd 2 4=Po g=Lo
1=Lm 6=Lo 3=So 1=Lo 1=Mc 1=Mn 1=Mc 1e=Lo 1=Mn 1=Lo 3=Mn 2=Lo 2=Mn 5=Lo 2=Mn 1=Lo 1=Mn 1=Lo o 2=Lo 1=Lm 2=Po b=Lo
1=Mc 2=Mn 2=Mc 2=Po 1=Lo 2=Lm 1=Mc 1=Mn a 6=Lo 2 6=Lo 2 6=Lo 9 7=Lo 1 7=Lo 1 17=Ll 1=Sk 4=Lm 9=Ll 1=Lm 2=Sk 4 28=Ll
z=Lo 2=Mc 1=Mn 2=Mc 1=Mn 2=Mc 1=Po 1=Mc 1=Mn 2 a=Nd 6 8mc=Lo c n=Lo 4 1d=Lo 4 1kw=Cs 4xs=Co a6=Lo 2 2y=Lo 12 7=Ll c
5=Ll 5 1=Lo 1=Mn a=Lo 1=Sm d=Lo 1 5=Lo 1 1=Lo 1 2=Lo 1 2=Lo 1 30=Lo h=Sk g a3=Lo 1=Pe 1=Ps g=So 1s=Lo 2 1i=Lo 7
1=So w c=Lo 1=Sc 3=So g=Mn 7=Po 1=Ps 1=Pe 1=Po 6 g=Mn 1=Po 2=Pd 2=Pc 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps
1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 2=Po 1=Ps 1=Pe 4=Po 3=Pc 3=Po 1 4=Po 1=Pd 1=Ps 1=Pe 1=Ps 1=Pe 1=Ps 1=Pe 3=Po
1=Sm 1=Pd 3=Sm 1 1=Po 1=Sc 2=Po 4 5=Lo 1 3r=Lo 2 1=Cf 1 3=Po 1=Sc 3=Po 1=Ps 1=Pe 1=Po 1=Sm 1=Po 1=Pd 2=Po a=Nd 2=Po
3=Sm 2=Po q=Lu 1=Ps 1=Po 1=Pe 1=Sk 1=Pc 1=Sk q=Ll 1=Ps 1=Sm 1=Pe 1=Sm 1=Ps 1=Pe 1=Po 1=Ps 1=Pe 2=Po a=Lo 1=Lm 19=Lo
2=Lm v=Lo 3 6=Lo 2 6=Lo 2 6=Lo 2 3=Lo 3 2=Sc 1=Sm 1=Sk 1=So 2=Sc 1 1=So 4=Sm 2=So a 3=Cf 2=So 2 c=Lo 1 q=Lo 1 j=Lo
1 2=Lo 1 f=Lo 2 e=Lo y 3f=Lo 5 3=Po 4 19=No 3 9=So 1h=Nl 4=No h=So 2=No 3=So 1 d=So 3 1=So 1b 19=So 1=Mn 3m t=Lo 3
1d=Lo f 1=Mn r=No 4 w=Lo 4=No 9 k=Lo 1=Nl 8=Lo 1=Nl 5 12=Lo 5=Mn 5 u=Lo 1 1=Po 10=Lo 4 8=Lo 1=Po 5=Nl 16 14=Lu
14=Ll 26=Lo 2 a=Nd 6 10=Lu 4 10=Ll 4 14=Lo 8 1g=Lo b 1=Po b=Lu 1 f=Lu 1 7=Lu 1 2=Lu 1 b=Ll 1 f=Ll 1 7=Ll 1 2=Ll 3
1g=Lo c 8n=Lo 9 m=Lo a 8=Lo o 6=Lm 1 16=Lm 1 9=Lm 1x 6=Lo 2 1=Lo 1 18=Lo 1 2=Lo 3 1=Lo 2 n=Lo 1 1=Po 8=No n=Lo 2=So
7=No v=Lo 8 9=No 1c j=Lo 1 2=Lo 5 5=No m=Lo 6=No 3 1=Po q=Lo 5 1=Po 1s 1k=Lo 4 2=No 2=Lo g=No 2 1a=No 1=Lo 3=Mn 1
2=Mn 5 4=Mn 4=Lo 1 3=Lo 1 t=Lo 2 3=Mn 4 1=Mn 9=No 7 9=Po 7 t=Lo 2=No 1=Po t=Lo 3=No w 8=Lo 1=So s=Lo 2=Mn 4 5=No
7=Po 9 1i=Lo 3 7=Po m=Lo 2 8=No j=Lo 5 8=No i=Lo 7 4=Po c 7=No 28 21=Lo 1j 1f=Lu d 1f=Ll 7 6=No 10=Lo 4=Mn 8 a=Nd 6
a=Nd 4=Lo 1=Lm 1=Lo m=Lu 3 5=Mn 1=Pd 1=Lm m=Ll 8 2=Sm 5s v=No 1 16=Lo 1 2=Mn 1=Pd 2 2=Lo g 3=Lo 1j 4=Mn t=Lo a=No
1=Lo 8 m=Lo b=Mn 4=No 5=Po m i=Lo 4=Mn 4=Po 12 l=Lo 7=No k n=Lo 9 1=Mc 1=Mn 1=Mc 1h=Lo f=Mn 7=Po 4 k=No a=Nd 1=Mn
2=Lo 2=Mn 1=Lo 9 3=Mn 1=Mc 19=Lo 3=Mc 4=Mn 2=Mc 2=Mn 2=Po 1=Cf 4=Po 1=Mn a 1=Cf 2 p=Lo 7 a=Nd 6 3=Mn 10=Lo 5=Mn
1=Mc 8=Mn 1 a=Nd 4=Po 1=Lo 2=Mc 1=Lo 8 z=Lo 1=Mn 2=Po 1=Lo 9 2=Mn 1=Mc 1c=Lo 3=Mc 9=Mn 2=Mc 4=Lo 4=Po 4=Mn 1=Po
1=Mc 1=Mn a=Nd 1=Lo 1=Po 1=Lo 3=Po 1 k=No b i=Lo 1 p=Lo 3=Mc 3=Mn 2=Mc 1=Mn 1=Mc 2=Mn 6=Po 1=Mn 2=Lo 1=Mn 1q 7=Lo 1
1=Lo 1 4=Lo 1 f=Lo 1 a=Lo 1=Po 6 1b=Lo 1=Mn 3=Mc 8=Mn 5 a=Nd 6 2=Mn 2=Mc 1 8=Lo 2 2=Lo 2 m=Lo 1 7=Lo 1 2=Lo 1 5=Lo
1 2=Mn 1=Lo 2=Mc 1=Mn 4=Mc 2 2=Mc 2 3=Mc 2 1=Lo 6 1=Mc 5 5=Lo 2=Mc 2 7=Mn 3 5=Mn b a=Lo 1 1=Lo 2 1=Lo 1 12=Lo 1
1=Lo 3=Mc 6=Mn 1 1=Mc 2 1=Mc 1 4=Mc 1 2=Mc 1=Mn 1=Mc 1=Mn 1=Lo 1=Mn 1=Lo 2=Po 1 2=Po 8 2=Mn t 1h=Lo 3=Mc 8=Mn 2=Mc
3=Mn 1=Mc 1=Mn 4=Lo 5=Po a=Nd 2=Po 1 1=Po 1=Mn 3=Lo u 1c=Lo 3=Mc 6=Mn 1=Mc 1=Mn 4=Mc 2=Mn 1=Mc 2=Mn 2=Lo 1=Po 1=Lo
8 a=Nd 4m 1b=Lo 3=Mc 4=Mn 2 4=Mc 2=Mn 1=Mc 2=Mn n=Po 4=Lo 2=Mn y 1c=Lo 3=Mc 8=Mn 2=Mc 1=Mn 1=Mc 2=Mn 3=Po 1=Lo b
a=Nd 6 d=Po j 17=Lo 1=Mn 1=Mc 1=Mn 2=Mc 6=Mn 1=Mc 1=Mn 1=Lo 1=Po 6 a=Nd 6 k=Nd s r=Lo 2 1=Mn 1=Mc 1=Mn 2=Mc 4=Mn
1=Mc 5=Mn 4 a=Nd 2=No 3=Po 1=So 7=Lo 55 18=Lo 3=Mc 9=Mn 1=Mc 2=Mn 1=Po 2s w=Lu w=Ll a=Nd 9=No c 8=Lo 2 1=Lo 2 8=Lo
1 2=Lo 1 o=Lo 6=Mc 1 2=Mc 2 2=Mn 1=Mc 1=Mn 1=Lo 1=Mc 1=Lo 1=Mc 1=Mn 3=Po 9 a=Nd 1y 8=Lo 2 13=Lo 3=Mc 4=Mn 2 2=Mn
4=Mc 1=Mn 1=Lo 1=Po 1=Lo 1=Mc r 1=Lo a=Mn 14=Lo 6=Mn 1=Mc 1=Lo 4=Mn 8=Po 1=Mn 8 1=Lo 6=Mn 2=Mc 3=Mn 1a=Lo d=Mn 1=Mc
2=Mn 3=Po 1=Lo 5=Po d 21=Lo 7 a=Po 52 x=Lo 1=Po e a=Nd 6 9=Lo 1 11=Lo 1=Mc 7=Mn 1 6=Mn 1=Mc 1=Mn 1=Lo 5=Po a a=Nd
j=No 3 2=Po u=Lo 2 m=Mn 1 1=Mc 7=Mn 1=Mc 2=Mn 1=Mc 2=Mn 21 7=Lo 1 2=Lo 1 12=Lo 6=Mn 3 1=Mn 1 2=Mn 1 7=Mn 1=Lo 1=Mn
8 a=Nd 6 6=Lo 1 2=Lo 1 w=Lo 5=Mc 1 2=Mn 1 2=Mc 1=Mn 1=Mc 1=Mn 1=Lo 7 a=Nd 8m j=Lo 2=Mn 2=Mc 2=Po 7 2=Mn 1=Lo 1=Mc
d=Lo 1 y=Lo 2=Mc 5=Mn 3 2=Mc 1=Mn 1=Mc 1=Mn d=Po a=Nd 1=Mn 2d 1=Lo f l=No 8=So 4=Sc h=So d 1=Po pm=Lo 2u 33=Nl 1
5=Po b 5g=Lo 218 2p=Lo 2=Po d ts=Lo g=Cf 1=Mn 6=Lo f=Mn a 32z=Lo 5 g7=Lo 5a1 u=Lo c=Mn 3=Mc 3=Mn a=Nd 1c6 ft=Lo 7
v=Lo 1 a=Nd 4 2=Po 27=Lo 1 a=Nd 6 u=Lo 2 5=Mn 1=Po a 1c=Lo 7=Mn 5=Po 4=So 4=Lm 1=Po 1=So a a=Nd 1 7=No 1 l=Lo 5
j=Lo c0 3=Lm 14=Lo 2=Lm 3=Po a=Nd 5i w=Lu w=Ll n=No 4=Po 2t 23=Lo 4 1=Mn 1=Lo 1j=Mc 7 4=Mn d=Lm 1s 2=Lm 1=Po 1=Lm
1=Mn b 2=Mc e 4qg=Lo 8 ye=Lo 15 a=Lo 6w7 4=Lm 1 7=Lm 1 2=Lm 1 83=Lo f 1=Lo t 3=Lo 2 1=Lo e 4=Lo 8 b0=Lo 1s4 2z=Lo 5
d=Lo 3 9=Lo 7 a=Lo 2 1=So 2=Mn 1=Po 4=Cf 318 6o=So a=Nd 6 c4=So 24 1a=Mn 2 n=Mn 9 38=So 1o 6u=So a 13=So 2 1o=So
2=Mc 3=Mn 3=So 6=Mc 8=Cf 8=Mn 2=So 7=Mn u=So 4=Mn 1p=So l 1u=So 3=Mn 1=So 3e k=No c k=No c 2f=So 9 p=No 3r q=Lu
q=Ll q=Lu 7=Ll 1 i=Ll q=Lu q=Ll 1=Lu 1 2=Lu 2 1=Lu 2 2=Lu 2 4=Lu 1 8=Lu 4=Ll 1 1=Ll 1 7=Ll 1 b=Ll q=Lu q=Ll 2=Lu 1
4=Lu 2 8=Lu 1 7=Lu 1 q=Ll 2=Lu 1 4=Lu 1 5=Lu 1 1=Lu 3 7=Lu 1 q=Ll q=Lu q=Ll q=Lu q=Ll q=Lu q=Ll q=Lu q=Ll q=Lu q=Ll
q=Lu s=Ll 2 p=Lu 1=Sm p=Ll 1=Sm 6=Ll p=Lu 1=Sm p=Ll 1=Sm 6=Ll p=Lu 1=Sm p=Ll 1=Sm 6=Ll p=Lu 1=Sm p=Ll 1=Sm 6=Ll
p=Lu 1=Sm p=Ll 1=Sm 6=Ll 1=Lu 1=Ll 2 1e=Nd e8=So 1j=Mn 4=So 1e=Mn 8=So 1=Mn e=So 1=Mn 2=So 5=Po f 5=Mn 1 f=Mn uo
a=Ll 1=Lo k=Ll 6 6=Ll 5x 7=Mn 1 h=Mn 2 7=Mn 1 2=Mn 1 5=Mn 5 1q=Lm x 1=Mn 34 19=Lo 3 7=Mn 7=Lm 2 a=Nd 4 1=Lo 1=So 8w
u=Lo 1=Mn h 18=Lo 4=Mn a=Nd 5 1=Sc cw r=Lo 1=Lm 4=Mn a=Nd 5y u=Lo 2=Mn 1=Lo a=Nd 4 1=Po dc 7=Lo 1 4=Lo 1 2=Lo 1
f=Lo 1 5h=Lo 2 9=No 7=Mn 15 y=Lu y=Ll 7=Mn 1=Lm 4 a=Nd 4 2=Po lt 1n=No 1=So 3=No 1=Sc 4=No 24 19=No 1=So f=No 5e
4=Lo 1 r=Lo 1 2=Lo 1 1=Lo 2 1=Lo 1 a=Lo 1 4=Lo 1 1=Lo 1 1=Lo 6 1=Lo 4 1=Lo 1 1=Lo 1 1=Lo 1 3=Lo 1 2=Lo 1 1=Lo 2
1=Lo 1 1=Lo 1 1=Lo 1 1=Lo 1 1=Lo 1 2=Lo 1 1=Lo 2 4=Lo 1 7=Lo 1 4=Lo 1 4=Lo 1 1=Lo 1 a=Lo 1 h=Lo 5 3=Lo 1 5=Lo 1
h=Lo 1g 2=Sm 7i 18=So 4 2s=So c f=So 2 f=So 1 f=So 1 11=So a d=No 4h=So 1k t=So d 18=So 4 9=So 7 2=So e 6=So 4a
6z=So 5=Sk k8=So 4 h=So 3 d=So 3 3b=So 4 2n=So 6 c=So 4 1=So f c=So 4 1k=So 8 a=So 6 14=So 8 u=So 2 c=So 4 2=So 1q
9g=So c e=So 2 d=So 3 a=So 5 1k=So 7 f=So 2 b=So 6 9=So 7 43=So 1 2k=So a=Nd sm wyo=Lo w 37e=Lo 6 66=Lo 2 4g2=Lo e
5rl=Lo f ha=Lo 1wi f2=Lo 15u 3t7=Lo 5 38g=Lo f975 1=Cf u 2o=Cf 3k 6o=Mn 1e6o 1eke=Co 2 1eke=Co 2]]

data.classes = [[
lc l=6e 1=6g 4=64 1=6g 1=60 5=64 2=5m 4=64 2=5m b=64 5=1 4=64 8=6e 1=6o 1=6e 3=64 3=6e 2=64 1 3=6e 4=64 1=6e 1=6g
2=64 1=6e 1=6h 2=6i 1=6h 2=6i 1=6h d=6e 7n 5=6e 7d 1=64 4=6e 1=64 3=6e 1=66 1=64 6=6e 6=64 2=6e 1=64 2=6e 1=66 1=6c
1=6e 1=a 1=b 1=c 1=d 1=e 1=f 1=g 1=h 1=i 2=j 1=k 1=l 1=m 1 1=n 1 1=o 1=p 1 1=6e 1=64 1 1=i 20 8=6e 1=u 1=v 1=w 1c
1=r 1=s 1=t 1=u 1=v 1=w 1=x 1=y 2=6e 2=64 5=6e 1=64 2=6e 1=64 g 1=z 2t 7=6e 2 4=6e 1=64 1=6e 2 2=6e 1 1=64 2=6e
1=64 z 1=10 u 1=6e 1=64 2=6e 1=64 2=6e 3=64 1=6e 2=64 1=6e 1=64 3=6e 1=64 1=6e 1=64 1=6e 1=64 1=6e 1=64 2=6e 4g
7=6e 1=64 1=6e 9 1=64 o 4=6e 1 9=6e 1 3=6e 1 5=6e 17 3=64 1n 2=6e 3=64 4=6e 16 5=6e 5=64 e=6e 1 1=64 2=6e 1=64 2=6e
1=64 3=6e 3=64 1=r 1=s 1=t 3=6e 1=64 2=6e 2=64 5=6e 1o 1=7 g 1=9 3 1=6e 1=64 2=6e 2v 1=7 g 1=9 1c 1=6e 1p 1=7 g 1=9
32 1=7 g 1=9 32 1=7 g 1=9 3j 1=9 32 1=7 g 1=9 7 1=2c 1=2j 2t 1=7 g 1=9 31 2=9 g 1=9 3g 1=9 31 2=2v 1=9 d 4=2z 30
2=3a 1=9 d 4=3e 24 2=64 r 1=64 1 1=64 1 1=60 1j 1=3l 1=3m 1 1=3o 5 4=3m 2 1=3m 1 2=6e 1=9 1 2=6e 1q 1=64 34 1=7 1
2=9 2a 1=64 jz 3=6e qc 2=9 u 1=9 4d 1=9 a 1=6e 5n 1=6c 3z 1=66 1=6e 1=64 63 1=6e 1=64 1z 1=9 k 8=6e 2 1=64 1c 5=6e
6=64 2=6e 1=64 1 2=64 2=6e 2=64 5=6e 1=64 4=6e 2t 1=7 f 1=9 12 1=6e 1=64 7=6e 1i 2=9 1m 1=7 b 2=9 1v 1=7 48 3=6e 1
1=1 5=64 2=6e 4=64 1=6e 1 7=1 4 1=64 6 1=6e 3 2=6e 5i 2=6e 1=64 7=6e 1=64 2=6e 1=6i 1=5y 1=64 1=5m 11=6e 1=6g 2=6c
1=64 1=62 1=6e 1=6h 1=64 1=6e 1=64 k0 2=6e 2=1 4=6e 3=1 2=6e 4 1=6e 3 2=1 1=6e 1=64 1=6e 2=1 4=64 1=6e 2da 3=6e 3x
1=9 2o w=6e fe 1=62 1=6c 1=6g 1=66 2=68 2x 2=8 n9w 1=6e 4 a=6e w 2=6e 28 2=6e 7o 1=9 11 1=9 47 1=9 r i=6e 1l 3=64
11 1=9 2n 1=7 c 1=9 6n 1=6e 1 2=6e 1=64 2 2=6e 5 2=6e 1 1=6e 1g 1=9 6u 1=9 fn4 1=q ld 7=6e 7=64 2=6e r1 1=64 6a
1=64 45 5=6e 1aq 1=64 1 1=6e 14 1=6e 1=1 1=64 4 1=9 4l 1=6e 1=64 fx 4=6e 1t 5=6e 8t 2=6e 28 3=64 1y 2=64 3=6e 1=64
1=6e 4=64 1d 1=6e 1=64 1=6e 1=64 5c 1=9 15 1=9 e 1=9 1l 1=9 1=7 1x 3=6e 1c 2=9 1q 1=7 24 1=9 9 1=7 2y 1=9 1=7 4y
1=7 1=9 28 2=7 g 1=9 o 7=6e 3 5=6e 2h 3=9 35 1=9 3 1=7 n 1=6e 2r 1=9 1=7 6z 1=9 1=7 3i 1=9 3a 1=9 1=7 37 1=9 7h 1=9
1=7 76 2=9 4 1=7 4c 1=9 2b 1=9 i 1=9 29 1=9 bp 1=9 76 1=7 1 2=9 29 1=9 bt 2=9 d0s 1=9 1xc 5=1 1n 7=6e xl 2=6 f58
1=1 43q 2=60 3=1 3 1=6a 5=60 8 8=64 2 5=6e 2=64 u 4=6e 44 3=6e 2pn 7=6e 1 h=6e 2 7=6e 1 2=6e 1 5=6e 2s 1=6e 4g 7=6e
af 1=6e 1p 4=6e e4 2=6g 1=64 1=6e 72 1=6e 1=64 kg 7=64 31 6=6e 1=7 l705]]

data.breaks = [[
a=Control 1=LF 2=Control 1=CR i=Control 2n x=Control 9 1=Pictographic 3 1=Control 1=Pictographic gh 34=Extend 7n
7=Extend 7b 19=Extend 1 1=Extend 1 2=Extend 1 2=Extend 1 3=Extend 1i 6=Prepend a b=Extend 1 1=Control 1a l=Extend g
1=Extend 2t 7=Extend 1=Prepend 1 6=Extend 2 2=Extend 1 4=Extend x 1=Prepend 1 1=Extend u r=Extend 2j b=Extend 1m
9=Extend 9 1=Extend o 4=Extend 1 9=Extend 1 3=Extend 1 5=Extend 17 3=Extend 1g 2=Prepend 5 9=Extend 16 o=Extend
1=Prepend w=Extend 1=SpacingMark 1i 1=Extend 1=SpacingMark 1=Extend 1 3=SpacingMark 8=Extend 4=SpacingMark 1=Extend
2=SpacingMark 1 7=Extend a 2=Extend t 1=Extend 2=SpacingMark 1k 1=Extend 1 1=Extend 2=SpacingMark 4=Extend 2
2=SpacingMark 2 2=SpacingMark 1=Extend 9 1=Extend a 2=Extend q 1=Extend 2 2=Extend 1=SpacingMark 1k 1=Extend 1
3=SpacingMark 2=Extend 4 2=Extend 2 3=Extend 3 1=Extend u 2=Extend 3 1=Extend b 2=Extend 1=SpacingMark 1k 1=Extend
1 3=SpacingMark 5=Extend 1 2=Extend 1=SpacingMark 1 2=SpacingMark 1=Extend k 2=Extend m 6=Extend 1 1=Extend
2=SpacingMark 1k 1=Extend 1 2=Extend 1=SpacingMark 4=Extend 2 2=SpacingMark 2 2=SpacingMark 1=Extend 5 5=Extend a
2=Extend u 1=Extend 1n 1=Extend 1=SpacingMark 1=Extend 2=SpacingMark 3 3=SpacingMark 1 3=SpacingMark 1=Extend 9
1=Extend 14 1=Extend 3=SpacingMark 1=Extend 1j 1=Extend 1 3=Extend 4=SpacingMark 1 3=Extend 1 4=Extend 7 2=Extend b
2=Extend t 1=Extend 2=SpacingMark 1k 1=Extend 1 1=SpacingMark 2=Extend 1=SpacingMark 1=Extend 2=SpacingMark 1
3=Extend 1 4=Extend 7 2=Extend b 2=Extend f 1=SpacingMark c 2=Extend 2=SpacingMark 1j 2=Extend 1 1=Extend
2=SpacingMark 4=Extend 1 3=SpacingMark 1 3=SpacingMark 1=Extend 1=Prepend 8 1=Extend a 2=Extend t 1=Extend
2=SpacingMark 1y 1=Extend 4 1=Extend 2=SpacingMark 3=Extend 1 1=Extend 1 7=SpacingMark 1=Extend i 2=SpacingMark 1p
1=Extend 1 1=SpacingMark 7=Extend c 8=Extend 2q 1=Extend 1 1=SpacingMark 9=Extend b 7=Extend 21 2=Extend r 1=Extend
1 1=Extend 1 1=Extend 4 2=SpacingMark 1d e=Extend 1=SpacingMark 5=Extend 1 2=Extend 5 b=Extend 1 10=Extend 9
1=Extend 2u 4=Extend 1=SpacingMark 6=Extend 1 2=Extend 2=SpacingMark 2=Extend n 2=SpacingMark 2=Extend 4 3=Extend g
4=Extend d 1=Extend 1 1=SpacingMark 2=Extend 6 1=Extend f 1=Extend 2q 2o=L 20=V 2g=T 9p 3=Extend qa 4=Extend s
3=Extend t 2=Extend u 2=Extend 1s 2=Extend 1=SpacingMark 7=Extend 8=SpacingMark 1=Extend 2=SpacingMark b=Extend 9
1=Extend 19 3=Extend 1=Control 1=Extend 39 2=Extend y 1=Extend 3a 3=Extend 4=SpacingMark 2=Extend 3=SpacingMark 4
2=SpacingMark 1=Extend 6=SpacingMark 3=Extend 63 2=Extend 2=SpacingMark 1=Extend 1l 1=SpacingMark 1=Extend
1=SpacingMark 7=Extend 1 1=Extend 1 1=Extend 2 8=Extend 6=SpacingMark a=Extend 2 1=Extend 1c 1t=Extend f 4=Extend
1=SpacingMark 1b a=Extend 4=SpacingMark 3=Extend 12 9=Extend c 2=Extend 1=SpacingMark u 1=SpacingMark 4=Extend
2=SpacingMark 6=Extend 1k 1=Extend 1=SpacingMark 2=Extend 3=SpacingMark 1=Extend 1=SpacingMark 5=Extend 1c
8=SpacingMark 8=Extend 2=SpacingMark 2=Extend 48 3=Extend 1 d=Extend 1=SpacingMark 7=Extend 4 1=Extend 6 1=Extend 2
1=SpacingMark 2=Extend 5i 1s=Extend ej 1=Control 1=Extend 1=ZWJ 2=Control o 7=Control d 1=Pictographic c
1=Pictographic m g=Control 2o x=Extend 1d 1=Pictographic m 1=Pictographic 2i 6=Pictographic f 2=Pictographic a7
2=Pictographic c 1=Pictographic 4m 1=Pictographic p b=Pictographic 4 3=Pictographic 5j 1=Pictographic 6f
2=Pictographic a 1=Pictographic 9 1=Pictographic 1m 4=Pictographic 1 5=Pictographic 9 1=Pictographic 2
1=Pictographic 2 2=Pictographic 2 1=Pictographic 4 1=Pictographic 2 1=Pictographic 1 2=Pictographic 2
1=Pictographic 3 1=Pictographic 3 2=Pictographic 8 3=Pictographic 5 1=Pictographic 1 1=Pictographic 5
c=Pictographic b 2=Pictographic 2 1=Pictographic 1 2=Pictographic 1 1=Pictographic i 1=Pictographic 2
2=Pictographic i 6=Pictographic 1 1=Pictographic 1 2=Pictographic 3 2=Pictographic 5 1=Pictographic 2
2=Pictographic 4 2=Pictographic b 2=Pictographic 5 2=Pictographic 2 1=Pictographic 5 2=Pictographic 1
1=Pictographic 1 2=Pictographic k 2=Pictographic 5 6=Pictographic 1 4=Pictographic 2 1=Pictographic 4
1=Pictographic 2 1=Pictographic 2 6=Pictographic 1 1=Pictographic 2 1=Pictographic 1 1=Pictographic 1
1=Pictographic 6 1=Pictographic 3 1=Pictographic 6 1=Pictographic a 2=Pictographic f 1=Pictographic 2
1=Pictographic 4 1=Pictographic 1 1=Pictographic 4 3=Pictographic 1 1=Pictographic b 2=Pictographic 1c
3=Pictographic 9 1=Pictographic e 1=Pictographic e 1=Pictographic ac 2=Pictographic cv 3=Pictographic j
2=Pictographic 1f 1=Pictographic 4 1=Pictographic bd 3=Extend 3x 1=Extend 2o w=Extend fe 6=Extend 1=Pictographic c
1=Pictographic 2j 2=Extend e4 1=Pictographic 1 1=Pictographic mvp 4=Extend 1 a=Extend w 2=Extend 28 2=Extend 7k
1=Extend 3 1=Extend 4 1=Extend n 2=SpacingMark 2=Extend 1=SpacingMark 4 1=Extend 2b 2=SpacingMark 1e g=SpacingMark
2=Extend q i=Extend d 1=Extend 12 8=Extend p b=Extend 1=SpacingMark 1=Extend c t=L 3 3=Extend 1=SpacingMark 1b
1=Extend 2=SpacingMark 4=Extend 2=SpacingMark 2=Extend 2=SpacingMark 1=Extend 10 1=Extend 1v 6=Extend 2=SpacingMark
2=Extend 2=SpacingMark 2=Extend c 1=Extend 8 1=Extend 1=SpacingMark 1a 1=Extend 1f 1=Extend 1 3=Extend 2 2=Extend 5
2=Extend 1 1=Extend 15 1=SpacingMark 2=Extend 2=SpacingMark 5 1=SpacingMark 1=Extend 6k 2=SpacingMark 1=Extend
2=SpacingMark 1=Extend 2=SpacingMark 1 1=SpacingMark 1=Extend i 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV
r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT
1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT 1=LV r=LVT c n=V 4 1d=T 6xu 1=Extend kh g=Extend g g=Extend
5r 1=Control 4e 2=Extend 28 c=Control e9 1=Extend 6a 1=Extend 45 5=Extend 1ae 3=Extend 1 2=Extend 5 4=Extend 14
3=Extend 4 1=Extend 4l 2=Extend fx 4=Extend 1t 5=Extend 8t 2=Extend u 5=Extend w g=Extend 1y b=Extend 1d 4=Extend
3e 1=SpacingMark 1=Extend 1=SpacingMark 1h f=Extend 15 1=Extend 2 2=Extend a 3=Extend 1=SpacingMark 19
3=SpacingMark 4=Extend 2=SpacingMark 2=Extend 2 1=Prepend 4 1=Extend a 1=Prepend 1e 3=Extend 10 5=Extend
1=SpacingMark 8=Extend g 2=SpacingMark 18 1=Extend c 2=Extend 1=SpacingMark 1c 3=SpacingMark 9=Extend 1=SpacingMark
1=Extend 1 2=Prepend 5 4=Extend 1 1=SpacingMark 1=Extend 2k 3=SpacingMark 3=Extend 2=SpacingMark 4=Extend 6
1=Extend 2 1=Extend 4d 1=Extend 3=SpacingMark 8=Extend l 2=Extend 2=SpacingMark 1j 2=Extend 1 1=Extend
1=SpacingMark 1=Extend 4=SpacingMark 2 2=SpacingMark 2 2=SpacingMark 1=Extend 9 1=Extend a 2=SpacingMark 2 7=Extend
3 5=Extend 1v 1=Extend 2=SpacingMark 6=Extend 1 1=Extend 2 1=Extend 1 3=Extend 1=SpacingMark 1 2=SpacingMark
3=Extend 1=Prepend 1=Extend e 2=Extend 2a 3=SpacingMark 8=Extend 2=SpacingMark 3=Extend 1=SpacingMark 1=Extend n
1=Extend 29 1=Extend 2=SpacingMark 6=Extend 1=SpacingMark 1=Extend 2=SpacingMark 1=Extend 1=SpacingMark 2=Extend
1=SpacingMark 2=Extend 6j 1=Extend 2=SpacingMark 4=Extend 2 4=SpacingMark 2=Extend 1=SpacingMark 2=Extend r
2=Extend 2a 3=SpacingMark 8=Extend 2=SpacingMark 1=Extend 1=SpacingMark 2=Extend 2y 1=Extend 1=SpacingMark 1=Extend
2=SpacingMark 8=Extend 2t 1=Extend 1=SpacingMark 1=Extend 2 4=Extend 1=SpacingMark 5=Extend 74 3=SpacingMark
9=Extend 1=SpacingMark 2=Extend 6t 1=Extend 5=SpacingMark 1 2=SpacingMark 2 4=Extend 1=Prepend 1=SpacingMark
1=Prepend 1=SpacingMark 1=Extend 3x 3=SpacingMark 4=Extend 2 2=Extend 4=SpacingMark 1=Extend 3 1=SpacingMark s
a=Extend 14 6=Extend 1=SpacingMark 1 4=Extend 8 1=Extend 9 6=Extend 2=SpacingMark 3=Extend 14 6=Prepend d=Extend
1=SpacingMark 2=Extend 5i 1=Extend 1=SpacingMark 3=Extend 1=SpacingMark 1=Extend 1=SpacingMark 5j 1=SpacingMark
7=Extend 1 6=Extend 1=SpacingMark 1=Extend 2a m=Extend 1 1=SpacingMark 7=Extend 1=SpacingMark 2=Extend
1=SpacingMark 2=Extend 3e 6=Extend 3 1=Extend 1 2=Extend 1 7=Extend 1=Prepend 1=Extend 1u 5=SpacingMark 1 2=Extend
1 2=SpacingMark 1=Extend 1=SpacingMark 1=Extend 2g 1=Extend 76 2=Extend 2=SpacingMark 9 2=Extend 1=Prepend
1=SpacingMark 1c 2=SpacingMark 5=Extend 3 2=SpacingMark 3=Extend n 1=Extend 445 g=Control 1=Extend 6 f=Extend 8ug
c=Extend 3=SpacingMark 3=Extend 1xc 5=Extend 1n 7=Extend fg 1=V 3 4=V dg 1=Extend 1 1j=SpacingMark 7 4=Extend 29
1=Extend b 2=Extend f57 2=Extend 1 4=Control 3mk 1a=Extend 2 n=Extend dc 2=Extend 1o 5=Extend 3 6=Extend 8=Control
8=Extend 2 7=Extend u 4=Extend 44 3=Extend b 3=Extend 8 2=Extend 2 1=Extend w 2=Extend 1ha 1j=Extend 4 1e=Extend 8
1=Extend e 1=Extend m 5=Extend 1 f=Extend 11s 7=Extend 1 h=Extend 2 7=Extend 1 2=Extend 1 5=Extend 2s 1=Extend 4g
7=Extend af 1=Extend 1p 4=Extend e4 4=Extend 72 2=Extend 6r 1=Extend 2 1=Extend 7 2=Extend 5 1=Extend d6 7=Extend
31 7=Extend 1bt 1=Pictographic 13 4=Pictographic 2s c=Pictographic f 2=Pictographic f 1=Pictographic e
2=Pictographic 11 a=Pictographic 34 2=Pictographic c 2=Pictographic e 1=Pictographic 2 a=Pictographic k
1j=Pictographic q=Regional_Indicator 1 f=Pictographic a 1=Pictographic k 1=Pictographic 2 9=Pictographic 1
4=Pictographic 9 n=Pictographic 6 58=Pictographic 2 34=Pictographic 2 2=Pictographic 1 3=Pictographic 2
2b=Pictographic 2 3=Pictographic 1 4=Pictographic 5=Extend 72=Pictographic 1 1r=Pictographic b 6=Pictographic 1
o=Pictographic 7 2=Pictographic 2 8=Pictographic c 1=Pictographic 2 4=Pictographic 2 1=Pictographic 4
2=Pictographic d 2=Pictographic 2 1=Pictographic 8 2=Pictographic 9 1=Pictographic 5 3=Pictographic c
3=Pictographic 8 3=Pictographic 2 1=Pictographic 1 1=Pictographic 4 1=Pictographic 6 1=Pictographic 3
1=Pictographic 6 2e=Pictographic 1c 1y=Pictographic 5 8=Pictographic 2 h=Pictographic 3 1=Pictographic 1
6=Pictographic 2 d=Pictographic 64 l=Pictographic r 4=Pictographic 1k 8=Pictographic a 6=Pictographic 14
8=Pictographic u 2=Pictographic c 4=Pictographic 2 e=Pictographic 9 13=Pictographic c 1b=Pictographic 1
a=Pictographic 1 55=Pictographic 2g 8=Pictographic e 42=Pictographic 74 se=Pictographic gute w=Control 2o=Extend
3k=Control 6o=Extend 2s0=Control 44jk]]

data.decompositions = [[
4g~w 8~w.lk 2~2p 5~w.lg 3~1e 1~1f 1~w.ld 1~qk 3~w.mf 1~1d 1~33 2~1d.6dg.1g 1~1d.6dg.1e 1~1f.6dg.1g 2:1t.lc 1:1t.ld
1:1t.le 1:1t.lf 1:1t.lk 1:1t.lm 2:1v.mf 1:1x.lc 1:1x.ld 1:1x.le 1:1x.lk 1:21.lc 1:21.ld 1:21.le 1:21.lk 2:26.lf
1:27.lc 1:27.ld 1:27.le 1:27.lf 1:27.lk 3:2d.lc 1:2d.ld 1:2d.le 1:2d.lk 1:2h.ld 3:2p.lc 1:2p.ld 1:2p.le 1:2p.lf
1:2p.lk 1:2p.lm 2:2r.mf 1:2t.lc 1:2t.ld 1:2t.le 1:2t.lk 1:2x.lc 1:2x.ld 1:2x.le 1:2x.lk 2:32.lf 1:33.lc 1:33.ld
1:33.le 1:33.lf 1:33.lk 3:39.lc 1:39.ld 1:39.le 1:39.lk 1:3d.ld 2:3d.lk 1:1t.lg 1:2p.lg 1:1t.li 1:2p.li 1:1t.mg
1:2p.mg 1:1v.ld 1:2r.ld 1:1v.le 1:2r.le 1:1v.lj 1:2r.lj 1:1v.lo 1:2r.lo 1:1w.lo 1:2s.lo 3:1x.lg 1:2t.lg 1:1x.li
1:2t.li 1:1x.lj 1:2t.lj 1:1x.mg 1:2t.mg 1:1x.lo 1:2t.lo 1:1z.le 1:2v.le 1:1z.li 1:2v.li 1:1z.lj 1:2v.lj 1:1z.mf
1:2v.mf 1:20.le 1:2w.le 3:21.lf 1:2x.lf 1:21.lg 1:2x.lg 1:21.li 1:2x.li 1:21.mg 1:2x.mg 1:21.lj 2~21.22 1~2x.2y
1:22.le 1:2y.le 1:23.mf 1:2z.mf 2:24.ld 1:30.ld 1:24.mf 1:30.mf 1:24.lo 1:30.lo 1~24.53 1~30.53 3:26.ld 1:32.ld
1:26.mf 1:32.mf 1:26.lo 1:32.lo 1~jg.32 3:27.lg 1:33.lg 1:27.li 1:33.li 1:27.ln 1:33.ln 3:2a.ld 1:36.ld 1:2a.mf
1:36.mf 1:2a.lo 1:36.lo 1:2b.ld 1:37.ld 1:2b.le 1:37.le 1:2b.mf 1:37.mf 1:2b.lo 1:37.lo 1:2c.mf 1:38.mf 1:2c.lo
1:38.lo 3:2d.lf 1:39.lf 1:2d.lg 1:39.lg 1:2d.li 1:39.li 1:2d.lm 1:39.lm 1:2d.ln 1:39.ln 1:2d.mg 1:39.mg 1:2f.le
1:3b.le 1:2h.le 1:3d.le 1:2h.lk 1:2i.ld 1:3e.ld 1:2i.lj 1:3e.lj 1:2i.lo 1:3e.lo 1~37 x:27.m3 1:33.m3 e:2d.m3
1:39.m3 k~1w.al 1~1w.am 1~2s.am 1~24.22 1~24.2y 1~30.2y 1~26.22 1~26.2y 1~32.2y 1:1t.lo 1:2p.lo 1:21.lo 1:2x.lo
1:27.lo 1:33.lo 1:2d.lo 1:39.lo 1:64.lg 1:70.lg 1:64.ld 1:70.ld 1:64.lo 1:70.lo 1:64.lc 1:70.lc 2:5g.lg 1:6c.lg
1:fa.lg 1:fb.lg 1:5i.lg 1:6e.lg 3:1z.lo 1:2v.lo 1:23.lo 1:2z.lo 1:27.mg 1:33.mg 1:dm.lg 1:dn.lg 1:c7.lo 1:ia.lo
1:2y.lo 1~1w.2i 1~1w.3e 1~2s.3e 1:1z.ld 1:2v.ld 3:26.lc 1:32.lc 1:5h.ld 1:6d.ld 1:5i.ld 1:6e.ld 1:60.ld 1:6w.ld
1:1t.lr 1:2p.lr 1:1t.lt 1:2p.lt 1:1x.lr 1:2t.lr 1:1x.lt 1:2t.lt 1:21.lr 1:2x.lr 1:21.lt 1:2x.lt 1:27.lr 1:33.lr
1:27.lt 1:33.lt 1:2a.lr 1:36.lr 1:2a.lt 1:36.lt 1:2d.lr 1:39.lr 1:2d.lt 1:39.lt 1:2b.me 1:37.me 1:2c.me 1:38.me
3:20.lo 1:2w.lo 7:1t.lj 1:2p.lj 1:1x.mf 1:2t.mf 1:5y.lg 1:6u.lg 1:5x.lg 1:6t.lg 1:27.lj 1:33.lj 1:fi.lg 1:fj.lg
1:2h.lg 1:3d.lg 3h~2w 1~h2 1~2y 1~36 1~hl 1~hn 1~ht 1~3b 1~3d w~w.li 1~w.lj 1~w.lm 1~w.mg 1~w.lf 1~w.ln 3~gz 1~30
1~37 1~3c 1~id 2k!lc 1!ld 2!lv 1!lk.ld 1c!jd 6~w.n9 4!1n 6~w.ld 1:4o.ld 1:pd.ld 1!53 1:ph.ld 1:pj.ld 1:pl.ld
2:pr.ld 2:px.ld 1:q1.ld 1:qy.ld q:pl.lk 1:px.lk 1:q9.ld 1:qd.ld 1:qf.ld 1:qh.ld 1:qz.ld q:qh.lk 1:qt.lk 1:qn.ld
1:qt.ld 1:qx.ld 2~qa 1~qg 1~px 1:r6.ld 1:r6.lk 1~qu 1~qo q~qi 1~qp 1~qq 2~pk 1~qd 4~pv 7:t1.lc 1:t1.lk 2:sz.ld
4:sm.lk 5:t6.ld 1:t4.lc 1:tf.li b:t4.li w:u0.li n:tx.lc 1:tx.lk 2:tv.ld 4:uu.lk 5:u2.ld 1:u0.lc 1:ub.li o:vo.lr
1:vp.lr 22:t2.li 1:ty.li e:sw.li 1:ts.li 1:sw.lk 1:ts.lk 3:t1.li 1:tx.li 3:yg.lk 1:yh.lk 1:t2.lk 1:ty.lk 1:t3.lk
1:tz.lk 3:t4.lg 1:u0.lg 1:t4.lk 1:u0.lk 1:ta.lk 1:u6.lk 3:yw.lk 1:yx.lk 1:tp.lk 1:ul.lk 1:tf.lg 1:ub.lg 1:tf.lk
1:ub.lk 1:tf.ln 1:ub.ln 1:tj.lk 1:uf.lk 3:tn.lk 1:uj.lk 3y~12d.136 4b:17r.18z 1:17r.190 1:18o.190 1:17r.191
1:18q.190 27~17r.19w 1~18o.19w 1~1c7.19w 1~18q.19w 20:1cl.190 2:1c1.190 h:1ci.190 gm:1t4.1to 8:1tc.1to 3:1tf.1to
10!1sl.1to 1!1sm.1to 1!1sn.1to 1!1ss.1to 1!1sx.1to 1!1sy.1to 1!1t7.1to 1!1tb.1to 30:1xj.1xa 1:1xj.1xz g!1wh.1x8
1!1wi.1x8 2!1wv.1x8 2c!20i.20s 3!20o.20s z!1zq.20s 1!1zr.20s 1!1zw.20s 3!20b.20s 6i:287.28m 3:287.27y 1:287.28n
g!275.27w 1!276.27w 1j:2aa.2c7 1i:2bq.2bi 1:2br.2bi 1:2bq.2c7 3g:2fa.2fq 3c:2in.2j9 7:2iu.2j9 1:2iu.2ja 2:2iu.2iq
1:2iy.2j9 3j:2me.2m6 1:2mf.2m6 1:2me.2mv 3y:2qh.2q2 2:2qh.2q7 1:2qk.2q2 1:2qh.2qn 2d~2tp.2sy 3k~2x9.2wi 15~2wb.2vt
1~2wb.2w1 1b~2yz 1j!30i.33r a!30s.33r 5!30x.33r 5!312.33r 5!317.33r d!30g.33p a!31t.31u 2!31t.31w 1!33m.328
1~33m.329 1!33n.328 1~33n.329 8!31t.328 i!32q.33r a!330.33r 5!335.33r 5!33a.33r 5!33f.33r d!32o.33p 31:36t.372
5y~3bw 1ze:5c5.5dh 2:5c7.5dh 2:5c9.5dh 2:5cb.5dh 2:5cd.5dh 4:5ch.5dh 15:5dm.5dh 2:5do.5dh 3:5dq.5dh 1:5dr.5dh
2:5du.5dh dl~1t 1~5i 1~1u 2~1w 1~1x 1~b2 1~1z 1~20 1~21 1~22 1~23 1~24 1~25 1~26 2~27 1~f6 1~28 1~2a 1~2c 1~2d 1~2f
1~2p 1~gg 1~gh 1~5qa 1~2q 1~2s 1~2t 1~gp 1~gr 1~gs 1~2v 2~2z 1~31 1~97 1~33 1~gk 1~5qu 1~5qv 1~34 1~38 1~39 1~5r1
1~hb 1~3a 1~5r9 1~qa 1~qb 1~qc 1~qu 1~qv 1~2x 1~36 1~39 1~3a 1~qa 1~qb 1~qp 1~qu 1~qv e~u5 z~gi 1~2r 1~gl 1~6o 1~gs
1~2u 1~gv 1~gx 1~h1 1~h4 1~h5 1~h6 1~5tn 1~il 1~h9 1~5tx 1~in 1~hd 1~hc 1~he 1~hf 1~hg 1~hh 1~hk 1~hu 1~hv 1~bv
1~i1 1~i2 1~5r0 1~i3 1~i4 1~3e 1~i8 1~i9 1~ia 1~qg 1t:1t.md 1:2p.md 1:1u.lj 1:2q.lj 1:1u.mb 1:2q.mb 1:1u.mp 1:2q.mp
1:5j.ld 1:6f.ld 1:1w.lj 1:2s.lj 1:1w.mb 1:2s.mb 1:1w.mp 1:2s.mp 1:1w.mf 1:2s.mf 1:1w.ml 1:2s.ml 1:7m.lc 1:7n.lc
1:7m.ld 1:7n.ld 1:1x.ml 1:2t.ml 1:1x.mo 1:2t.mo 1:fc.li 1:fd.li 1:1y.lj 1:2u.lj 1:1z.lg 1:2v.lg 1:20.lj 1:2w.lj
1:20.mb 1:2w.mb 1:20.lk 1:2w.lk 1:20.mf 1:2w.mf 1:20.mm 1:2w.mm 1:21.mo 1:2x.mo 1:5r.ld 1:6n.ld 1:23.ld 1:2z.ld
1:23.mb 1:2z.mb 1:23.mp 1:2z.mp 1:24.mb 1:30.mb 1:5yu.lg 1:5yv.lg 1:24.mp 1:30.mp 1:24.ml 1:30.ml 1:25.ld 1:31.ld
1:25.lj 1:31.lj 1:25.mb 1:31.mb 1:26.lj 1:32.lj 1:26.mb 1:32.mb 1:26.mp 1:32.mp 1:26.ml 1:32.ml 1:5x.ld 1:6t.ld
1:5x.lk 1:6t.lk 1:98.lc 1:99.lc 1:98.ld 1:99.ld 1:28.ld 1:34.ld 1:28.lj 1:34.lj 1:2a.lj 1:36.lj 1:2a.mb 1:36.mb
1:5zu.lg 1:5zv.lg 1:2a.mp 1:36.mp 1:2b.lj 1:37.lj 1:2b.mb 1:37.mb 1:9m.lj 1:9n.lj 1:9s.lj 1:9t.lj 1:602.lj 1:603.lj
1:2c.lj 1:38.lj 1:2c.mb 1:38.mb 1:2c.mp 1:38.mp 1:2c.ml 1:38.ml 1:2d.mc 1:39.mc 1:2d.mo 1:39.mo 1:2d.ml 1:39.ml
1:a0.ld 1:a1.ld 1:a2.lk 1:a3.lk 1:2e.lf 1:3a.lf 1:2e.mb 1:3a.mb 1:2f.lc 1:3b.lc 1:2f.ld 1:3b.ld 1:2f.lk 1:3b.lk
1:2f.lj 1:3b.lj 1:2f.mb 1:3b.mb 1:2g.lj 1:3c.lj 1:2g.lk 1:3c.lk 1:2h.lj 1:3d.lj 1:2i.le 1:3e.le 1:2i.mb 1:3e.mb
1:2i.mp 1:3e.mp 1:2w.mp 1:38.lk 1:3b.lm 1:3d.lm 1~2p.ji 1:an.lj 5:1t.mb 1:2p.mb 1:1t.ll 1:2p.ll 1:5e.ld 1:6a.ld
1:5e.lc 1:6a.lc 1:5e.ll 1:6a.ll 1:5e.lf 1:6a.lf 1:61s.le 1:61t.le 1:76.ld 1:77.ld 1:76.lc 1:77.lc 1:76.ll 1:77.ll
1:76.lf 1:77.lf 1:61s.li 1:61t.li 1:1x.mb 1:2t.mb 1:1x.ll 1:2t.ll 1:1x.lf 1:2t.lf 1:5m.ld 1:6i.ld 1:5m.lc 1:6i.lc
1:5m.ll 1:6i.ll 1:5m.lf 1:6i.lf 1:62g.le 1:62h.le 1:21.ll 1:2x.ll 1:21.mb 1:2x.mb 1:27.mb 1:33.mb 1:27.ll 1:33.ll
1:5w.ld 1:6s.ld 1:5w.lc 1:6s.lc 1:5w.ll 1:6s.ll 1:5w.lf 1:6s.lf 1:630.le 1:631.le 1:bk.ld 1:bl.ld 1:bk.lc 1:bl.lc
1:bk.ll 1:bl.ll 1:bk.lf 1:bl.lf 1:bk.mb 1:bl.mb 1:2d.mb 1:39.mb 1:2d.ll 1:39.ll 1:bz.ld 1:c0.ld 1:bz.lc 1:c0.lc
1:bz.ll 1:c0.ll 1:bz.lf 1:c0.lf 1:bz.mb 1:c0.mb 1:2h.lc 1:3d.lc 1:2h.mb 1:3d.mb 1:2h.ll 1:3d.ll 1:2h.lf 1:3d.lf
7:q9.lv 1:q9.lw 1:64g.lc 1:64h.lc 1:64g.ld 1:64h.ld 1:64g.n6 1:64h.n6 1:pd.lv 1:pd.lw 1:64o.lc 1:64p.lc 1:64o.ld
1:64p.ld 1:64o.n6 1:64p.n6 1:qd.lv 1:qd.lw 1:64w.lc 1:64x.lc 1:64w.ld 1:64x.ld 3:ph.lv 1:ph.lw 1:654.lc 1:655.lc
1:654.ld 1:655.ld 3:qf.lv 1:qf.lw 1:65c.lc 1:65d.lc 1:65c.ld 1:65d.ld 1:65c.n6 1:65d.n6 1:pj.lv 1:pj.lw 1:65k.lc
1:65l.lc 1:65k.ld 1:65l.ld 1:65k.n6 1:65l.n6 1:qh.lv 1:qh.lw 1:65s.lc 1:65t.lc 1:65s.ld 1:65t.ld 1:65s.n6 1:65t.n6
1:pl.lv 1:pl.lw 1:660.lc 1:661.lc 1:660.ld 1:661.ld 1:660.n6 1:661.n6 1:qn.lv 1:qn.lw 1:668.lc 1:669.lc 1:668.ld
1:669.ld 3:pr.lv 1:pr.lw 1:66g.lc 1:66h.lc 1:66g.ld 1:66h.ld 3:qt.lv 1:qt.lw 1:66o.lc 1:66p.lc 1:66o.ld 1:66p.ld
1:66o.n6 1:66p.n6 2:px.lw 2:66x.lc 2:66x.ld 2:66x.n6 1:qx.lv 1:qx.lw 1:674.lc 1:675.lc 1:674.ld 1:675.ld 1:674.n6
1:675.n6 1:q1.lv 1:q1.lw 1:67c.lc 1:67d.lc 1:67c.ld 1:67d.ld 1:67c.n6 1:67d.n6 1:q9.lc 1!q4 1:qd.lc 1!q5 1:qf.lc
1!q6 1:qh.lc 1!q7 1:qn.lc 1!r0 1:qt.lc 1!r1 1:qx.lc 1!r2 3:64g.n9 1:64h.n9 1:64i.n9 1:64j.n9 1:64k.n9 1:64l.n9
1:64m.n9 1:64n.n9 1:64o.n9 1:64p.n9 1:64q.n9 1:64r.n9 1:64s.n9 1:64t.n9 1:64u.n9 1:64v.n9 1:65c.n9 1:65d.n9
1:65e.n9 1:65f.n9 1:65g.n9 1:65h.n9 1:65i.n9 1:65j.n9 1:65k.n9 1:65l.n9 1:65m.n9 1:65n.n9 1:65o.n9 1:65p.n9
1:65q.n9 1:65r.n9 1:674.n9 1:675.n9 1:676.n9 1:677.n9 1:678.n9 1:679.n9 1:67a.n9 1:67b.n9 1:67c.n9 1:67d.n9
1:67e.n9 1:67f.n9 1:67g.n9 1:67h.n9 1:67i.n9 1:67j.n9 1:q9.li 1:q9.lg 1:67k.n9 1:q9.n9 1:q4.n9 2:q9.n6 1:69i.n9
1:pd.li 1:pd.lg 1:pd.lc 1!p2 1:pd.n9 1~w.lv 1!qh 1~w.lv 1~w.n6 1:4o.n6 1:67o.n9 1:qf.n9 1:q6.n9 2:qf.n6 1:69y.n9
1:ph.lc 1!p4 1:pj.lc 1!p5 1:pj.n9 1:69r.lc 1:69r.ld 1:69r.n6 1:qh.li 1:qh.lg 1:qy.lc 1!pc 3:qh.n6 1:qy.n6 1:pl.li
1:pl.lg 1:pl.lc 1!p6 2:6bi.lc 1:6bi.ld 1:6bi.n6 1:qt.li 1:qt.lg 1:qz.lc 1!q8 1:qp.lv 1:qp.lw 1:qt.n6 1:qz.n6
1:px.li 1:px.lg 1:px.lc 1!pa 1:pt.lw 1:4o.lc 1!p1 1!2o 3:67w.n9 1:qx.n9 1:r2.n9 2:qx.n6 1:6ba.n9 1:pr.lc 1!p8
1:q1.lc 1!pb 1:q1.n9 1!50 1~w.lw 2!6bm 1!6bn 1~w 1~w 1~w 1~w 1~w 1~w 1~w 1~w 1~w 7~6c0 6~w.mr d~1a 1~1a.1a
1~1a.1a.1a 9~w 4~6cy.6cy 1~6cy.6cy.6cy 2~6d1.6d1 1~6d1.6d1.6d1 5~x.x 2~w.lh 9~1r.1r 1~1r.x 1~x.1r e~6cy.6cy.6cy.6cy
8~w h~1c 1~2x 3~1g 1~1h 1~1i 1~1j 1~1k 1~1l 1~17 1~6qa 1~1p 1~14 1~15 1~32 1~1c 1~1d 1~1e 1~1f 1~1g 1~1h 1~1i 1~1j
1~1k 1~1l 1~17 1~6qa 1~1p 1~14 1~15 2~2p 1~2t 1~33 1~3c 1~gp 1~2w 1~2z 1~30 1~31 1~32 1~34 1~37 1~38 c~2a.37
2g~2p.1b.2r 1~2p.1b.37 1~1v 1~4w.1v 2~2r.1b.33 1~2r.1b.39 1~b4 2~4w.1y 1~2v 1~20 1~20 1~20 1~2w 1~87 1~21 1~21 1~24
1~30 2~26 1~26.33 3~28 1~29 1~2a 1~2a 1~2a 3~2b.25 1~2c.1x.24 1~2c.25 2~2i 2!q1 2~2i 2!23 1!5h 1~1u 1~1v 2~2t 1~1x
1~1y 2~25 1~33 1~15c 1~15d 1~15e 1~15f 1~2x 2~1y.1t.2g 1~qo 1~qb 1~pf 1~ps 1~6q9 5~1w 1~2s 1~2t 1~2x 1~2y
7~1d.6dg.1j 1~1d.6dg.1l 1~1d.6dg.1d.1c 1~1d.6dg.1f 1~1e.6dg.1f 1~1d.6dg.1h 1~1e.6dg.1h 1~1f.6dg.1h 1~1g.6dg.1h
1~1d.6dg.1i 1~1h.6dg.1i 1~1d.6dg.1k 1~1f.6dg.1k 1~1h.6dg.1k 1~1j.6dg.1k 1~1d.6dg 1~21 1~21.21 1~21.21.21 1~21.2e
1~2e 1~2e.21 1~2e.21.21 1~2e.21.21.21 1~21.2g 1~2g 1~2g.21 1~2g.21.21 1~24 1~1v 1~1w 1~25 1~2x 1~2x.2x 1~2x.2x.2x
1~2x.3a 1~3a 1~3a.2x 1~3a.2x.2x 1~3a.2x.2x.2x 1~2x.3c 1~3c 1~3c.2x 1~3c.2x.2x 1~30 1~2r 1~2s 1~31 a~1c.6dg.1f
h:6mo.mw 1:6mq.mw j:6ms.mw v:6og.mw 1:6ok.mw 1:6oi.mw 1h:6pv.mw 5:6q0.mw 3:6q3.mw o:6qr.mw 2:6qt.mw 6~6qz.6qz
1~6qz.6qz.6qz 2~6r2.6r2 1~6r2.6r2.6r2 h:6rg.mw 3:6rn.mw 3:6rp.mw 2:6rs.mw n:1p.mw 2:6sh.mw b:6rx.mw 1:1o.mw 1:1q.mw
1:6sk.mw 1:6sl.mw 3:6sy.mw 1:6sz.mw 3:6t2.mw 1:6t3.mw 7:6t6.mw 1:6t7.mw 3:6te.mw 1:6tf.mw 3:6ti.mw 1:6tj.mw
z:6ua.mw 1:6ug.mw 1:6uh.mw 1:6uj.mw 1d:6t8.mw 1:6t9.mw 1:6tt.mw 1:6tu.mw 7:6uq.mw 1:6ur.mw 1:6us.mw 1:6ut.mw 1o!9hk
1!9hl 8m~1d 1~1e 1~1f 1~1g 1~1h 1~1i 1~1j 1~1k 1~1l 1~1d.1c 1~1d.1d 1~1d.1e 1~1d.1f 1~1d.1g 1~1d.1h 1~1d.1i 1~1d.1j
1~1d.1k 1~1d.1l 1~1e.1c 1~14.1d.15 1~14.1e.15 1~14.1f.15 1~14.1g.15 1~14.1h.15 1~14.1i.15 1~14.1j.15 1~14.1k.15
1~14.1l.15 1~14.1d.1c.15 1~14.1d.1d.15 1~14.1d.1e.15 1~14.1d.1f.15 1~14.1d.1g.15 1~14.1d.1h.15 1~14.1d.1i.15
1~14.1d.1j.15 1~14.1d.1k.15 1~14.1d.1l.15 1~14.1e.1c.15 1~1d.1a 1~1e.1a 1~1f.1a 1~1g.1a 1~1h.1a 1~1i.1a 1~1j.1a
1~1k.1a 1~1l.1a 1~1d.1c.1a 1~1d.1d.1a 1~1d.1e.1a 1~1d.1f.1a 1~1d.1g.1a 1~1d.1h.1a 1~1d.1i.1a 1~1d.1j.1a 1~1d.1k.1a
1~1d.1l.1a 1~1e.1c.1a 1~14.2p.15 1~14.2q.15 1~14.2r.15 1~14.2s.15 1~14.2t.15 1~14.2u.15 1~14.2v.15 1~14.2w.15
1~14.2x.15 1~14.2y.15 1~14.2z.15 1~14.30.15 1~14.31.15 1~14.32.15 1~14.33.15 1~14.34.15 1~14.35.15 1~14.36.15
1~14.37.15 1~14.38.15 1~14.39.15 1~14.3a.15 1~14.3b.15 1~14.3c.15 1~14.3d.15 1~14.3e.15 1~1t 1~1u 1~1v 1~1w 1~1x
1~1y 1~1z 1~20 1~21 1~22 1~23 1~24 1~25 1~26 1~27 1~28 1~29 1~2a 1~2b 1~2c 1~2d 1~2e 1~2f 1~2g 1~2h 1~2i 1~2p 1~2q
1~2r 1~2s 1~2t 1~2u 1~2v 1~2w 1~2x 1~2y 1~2z 1~30 1~31 1~32 1~33 1~34 1~35 1~36 1~37 1~38 1~39 1~3a 1~3b 1~3c 1~3d
1~3e 1~1c 10i~6qz.6qz.6qz.6qz 2w~1m.1m.1p 1~1p.1p 1~1p.1p.1p 2u!8gt.mw bk~2y 1~2e 6q~8yp 8g~lal 2c~vj3 d~feo 1~ffs
1~fg6 1~fgf 1~fh5 1~fid 1~fik 1~fj4 1~fju 1~g1r 1~g2t 1~g2z 1~g3m 1~g46 1~g4r 1~g68 1~g6t 1~g74 1~gbf 1~ge1 1~get
1~gey 1~gfs 1~gg1 1~ggs 1~gh5 1~ghu 1~gja 1~gjs 1~gkj 1~h5j 1~h7j 1~hkb 1~hky 1~hl6 1~hlh 1~hlz 1~ho3 1~i1c 1~i2o
1~i60 1~i6n 1~i76 1~i7s 1~i9a 1~i9d 1~ijf 1~ijp 1~ik1 1~ike 1~inm 1~inu 1~inz 1~ir8 1~iri 1~irv 1~is3 1~its 1~iu9
1~iur 1~iwz 1~jd4 1~jee 1~jez 1~jzj 1~jzo 1~k1z 1~k2f 1~k2s 1~k3d 1~k4g 1~k4l 1~kc0 1~kco 1~kdk 1~l5s 1~l7m 1~l89
1~l9v 1~laj 1~las 1~laz 1~lcf 1~lck 1~ldg 1~m7f 1~mju 1~mk6 1~mkb 1~mkf 1~mkn 1~ml5 1~ml7 1~mng 1~mtg 1~mtl 1~n30
1~n3a 1~n4o 1~n4v 1~n54 1~n5c 1~n7v 1~n82 1~nee 1~nel 1~nfy 1~ngf 1~nhq 1~nob 1~noi 1~noz 1~ny2 1~o1k 1~o1q 1~o6s
1~o97 1~oah 1~okz 1~ooo 1~p4m 1~p5d 1~p6y 1~p8d 1~pa9 1~pak 1~paq 1~pbn 1~pdr 1~pe1 1~pnn 1~pnu 1~po3 1~poc 1~pos
1~pp7 1~ppb 1~pri 1~prm 1~prs 1~qj1 1~qjv 1~qww 1~qx8 1~qxv 1~r5q 1~r63 1~r82 1~r9c 1~rp3 1~rpi 1~rpx 1~rqw 1~rrx
1~rxg 1~rxs 1~rzn 1~s6j 1~s7e 1~sd7 1~sds 1~sdx 1~sk1 1~sp5 1~ssm 1~sss 1~ssx 1~tiv 1~tj4 1~tng 1~trq 1~trt 1~tt4
1~tw1 1~twe 1~twi 1~twp 1~tzf 1~u0d 1~u0j 1~u0x 1~u5k 1~u6z 1~u73 1~uc6 1~uc9 1~ucs 1~ujs 1~ul4 1~ulb 1~un9 1~unj
1~unm 1~unw 1~uoq 1~uzp 1~vat 1~vb3 1~vc5 1~vcr 1~vcz 1~vd9 1~vdd 1~veh 1~vel 1~vf2 1~vf7 1~vfk 1~vgb 1~vgq 1~vgy
1~vil 1~vj0 1~vj4 17~w 1i~9hu 2~gg1 1~gg4 1~gg5 i:9jf.9ll 2:9jh.9ll 2:9jj.9ll 2:9jl.9ll 2:9jn.9ll 2:9jp.9ll
2:9jr.9ll 2:9jt.9ll 2:9jv.9ll 2:9jx.9ll 2:9jz.9ll 2:9k1.9ll 3:9k4.9ll 2:9k6.9ll 2:9k8.9ll 7:9kf.9ll 1:9kf.9lm
2:9ki.9ll 1:9ki.9lm 2:9kl.9ll 1:9kl.9lm 2:9ko.9ll 1:9ko.9lm 2:9kr.9ll 1:9kr.9lm n:9ja.9ll 7~w.9ll 1~w.9lm 2:9lp.9ll
1~9l4.9l6 d:9m3.9ll 2:9m5.9ll 2:9m7.9ll 2:9m9.9ll 2:9mb.9ll 2:9md.9ll 2:9mf.9ll 2:9mh.9ll 2:9mj.9ll 2:9ml.9ll
2:9mn.9ll 2:9mp.9ll 3:9ms.9ll 2:9mu.9ll 2:9mw.9ll 7:9n3.9ll 1:9n3.9lm 2:9n6.9ll 1:9n6.9lm 2:9n9.9ll 1:9n9.9lm
2:9nc.9ll 1:9nc.9lm 2:9nf.9ll 1:9nf.9lm n:9ly.9ll 3:9nz.9ll 1:9o0.9ll 1:9o1.9ll 1:9o2.9ll 4:9od.9ll 1~9mb.9mw
1e~3cw 1~3cx 1~3hm 1~3cy 1~3ho 1~3hp 1~3cz 1~3d0 1~3d1 1~3hs 1~3ht 1~3hu 1~3hv 1~3hw 1~3hx 1~3dm 1~3d2 1~3d3 1~3d4
1~3dt 1~3d5 1~3d6 1~3d7 1~3d8 1~3d9 1~3da 1~3db 1~3dc 1~3dd 1~3de 1~3fl 1~3fm 1~3fn 1~3fo 1~3fp 1~3fq 1~3fr 1~3fs
1~3ft 1~3fu 1~3fv 1~3fw 1~3fx 1~3fy 1~3fz 1~3g0 1~3g1 1~3g2 1~3g3 1~3g4 1~3g5 1~3fk 1~3dg 1~3dh 1~3if 1~3ig 1~3ik
1~3im 1~3ir 1~3iv 1~3ix 1~3do 1~3j1 1~3j3 1~3dp 1~3dq 1~3ds 1~3du 1~3dv 1~3dz 1~3e1 1~3e3 1~3e4 1~3e5 1~3e6 1~3e7
1~3ea 1~3ee 1~3eo 1~3ev 1~3f0 1~3jl 1~3jm 1~3fb 1~3fc 1~3fd 1~3gk 1~3gl 1~3go 1~3gx 1~3gy 1~3h0 1~3ha 1~3hd 4~feo
1~fik 1~fex 1~h5n 1~fey 1~ffx 1~fez 1~n5e 1~fh5 1~ffd 1~fep 1~hm1 1~h80 1~fju 2p~14.3cw.15 1~14.3cy.15 1~14.3cz.15
1~14.3d1.15 1~14.3d2.15 1~14.3d3.15 1~14.3d5.15 1~14.3d7.15 1~14.3d8.15 1~14.3da.15 1~14.3db.15 1~14.3dc.15
1~14.3dd.15 1~14.3de.15 1~14.3cw.3fl.15 1~14.3cy.3fl.15 1~14.3cz.3fl.15 1~14.3d1.3fl.15 1~14.3d2.3fl.15
1~14.3d3.3fl.15 1~14.3d5.3fl.15 1~14.3d7.3fl.15 1~14.3d8.3fl.15 1~14.3da.3fl.15 1~14.3db.3fl.15 1~14.3dc.3fl.15
1~14.3dd.3fl.15 1~14.3de.3fl.15 1~14.3d8.3fy.15 1~14.3d7.3ft.3d8.3fp.3hn.15 1~14.3d7.3ft.3de.3fy.15 2~14.feo.15
1~14.fik.15 1~14.fex.15 1~14.h5n.15 1~14.fis.15 1~14.g31.15 1~14.fer.15 1~14.g2z.15 1~14.fh9.15 1~14.gg1.15
1~14.kco.15 1~14.m7f.15 1~14.ldg.15 1~14.kdk.15 1~14.ssx.15 1~14.h7j.15 1~14.k4l.15 1~14.kkq.15 1~14.kcp.15
1~14.ny6.15 1~14.glp.15 1~14.mm1.15 1~14.rs1.15 1~14.nz1.15 1~14.gc4.15 1~14.fkz.15 1~14.gos.15 1~14.i1y.15
1~14.nhf.15 1~14.flt.15 1~14.rt3.15 1~14.ggk.15 1~14.nzh.15 1~14.fm9.15 1~14.pnu.15 1~14.po3.15 1~gun 1~inw 1~k1z
1~oen 9~28.2c.1x 1~1e.1d 1~1e.1e 1~1e.1f 1~1e.1g 1~1e.1h 1~1e.1i 1~1e.1j 1~1e.1k 1~1e.1l 1~1f.1c 1~1f.1d 1~1f.1e
1~1f.1f 1~1f.1g 1~1f.1h 1~3cw 1~3cy 1~3cz 1~3d1 1~3d2 1~3d3 1~3d5 1~3d7 1~3d8 1~3da 1~3db 1~3dc 1~3dd 1~3de
1~3cw.3fl 1~3cy.3fl 1~3cz.3fl 1~3d1.3fl 1~3d2.3fl 1~3d3.3fl 1~3d5.3fl 1~3d7.3fl 1~3d8.3fl 1~3da.3fl 1~3db.3fl
1~3dc.3fl 1~3dd.3fl 1~3de.3fl 1~3da.3fl.3hz.3cw.3ft 1~3d8.3fy.3d7.3g4 1~3d7.3fy 2~feo 1~fik 1~fex 1~h5n 1~fis 1~g31
1~fer 1~g2z 1~fh9 1~gg1 1~kco 1~m7f 1~ldg 1~kdk 1~ssx 1~h7j 1~k4l 1~kkq 1~kcp 1~ny6 1~glp 1~mm1 1~rs1 1~nz1 1~gc4
1~o2g 1~n5j 1~ho3 1~six 1~g16 1~ghc 1~lig 1~u11 1~fm9 1~g49 1~l7n 1~fey 1~ffx 1~fez 1~ijq 1~gkz 1~gfv 1~i3b 1~i1y
1~nhf 1~flt 1~rt3 1~ggk 1~hlo 1~1f.1i 1~1f.1j 1~1f.1k 1~1f.1l 1~1g.1c 1~1g.1d 1~1g.1e 1~1g.1f 1~1g.1g 1~1g.1h
1~1g.1i 1~1g.1j 1~1g.1k 1~1g.1l 1~1h.1c 1~1d.kco 1~1e.kco 1~1f.kco 1~1g.kco 1~1h.kco 1~1i.kco 1~1j.kco 1~1k.kco
1~1l.kco 1~1d.1c.kco 1~1d.1d.kco 1~1d.1e.kco 1~20.2v 1~2t.36.2v 1~2t.2e 1~24.2c.1w 1~9lu 1~9lw 1~9ly 1~9m0 1~9m2
1~9m3 1~9m5 1~9m7 1~9m9 1~9mb 1~9md 1~9mf 1~9mh 1~9mj 1~9ml 1~9mn 1~9mp 1~9ms 1~9mu 1~9mw 1~9my 1~9mz 1~9n0 1~9n1
1~9n2 1~9n3 1~9n6 1~9n9 1~9nc 1~9nf 1~9ni 1~9nj 1~9nk 1~9nl 1~9nm 1~9no 1~9nq 1~9ns 1~9nt 1~9nu 1~9nv 1~9nw 1~9nx
1~9nz 1~9o0 1~9o1 1~9o2 1~fl0.gp8 1~9lu.9n5.9oc.9mw 1~9lu.9nv.9n9.9lt 1~9lu.9o3.9ne.9lu 1~9lu.9oc.9nv
1~9lw.9mz.9o3.9m8 1~9lw.9o3.9mp 1~9ly.9m1.9o3 1~9m0.9mh.9m7.9oc.9mx 1~9m0.9oc.9m3.9oc 1~9m2.9o3.9mh 1~9m2.9oc.9nk
1~9m3.9lw.9nu 1~9m3.9nt.9mr.9mw 1~9m3.9nx.9nu.9oc 1~9m4.9nx.9o3 1~9m4.9o3.9ni 1~9m6.9m4 1~9m6.9mz.9oc
1~9m5.9np.9nu.9oc 1~9m6.9nv.9mo.9oc 1~9m5.9nx 1~9m5.9nx.9m8.9nt.9nk 1~9m5.9nx.9nl.9oc.9mw.9nv 1~9m5.9nx.9nz.9mr.9mw
1~9m8.9nt.9nk 1~9m8.9nt.9nk.9mw.9o3 1~9m7.9nv.9mk.9lw.9nx 1~9m7.9nx.9oc.9n1 1~9m9.9oc.9mh 1~9mb.9nv.9my
1~9mb.9oc.9nh 1~9md.9lw.9m7.9nv 1~9md.9o3.9mp.9oc.9nk 1~9mf.9nu.9o3.9m8 1~9mj.9o3.9mp 1~9mj.9o3.9mw 1~9mo.9oc.9mh
1~9mv.9mf 1~9mx.9nv 1~9mw.9o3 1~9my.9n2 1~9n2.9mr.9mw 1~9n3.9lw.9ms 1~9n5.9oc.9mj.9o3.9mw 1~9n5.9oc.9ms
1~9n4.9oc.9nw.9nv 1~9n8.9lu.9mh.9mw.9nv 1~9n8.9m7.9nv 1~9n8.9mb 1~9n7.9nv 1~9n9.9lt.9nt.9mr.9mx 1~9n9.9lv.9oc.9mw
1~9na.9mr.9mf.9lz.9nv 1~9n9.9nt.9o3 1~9nc.9m7.9mn.9oc.9nv 1~9ne.9ml 1~9ne.9mz.9n6 1~9nc.9nv.9ms 1~9ne.9o3.9mh
1~9ne.9oc.9mg 1~9nd.9oc.9mn 1~9nh.9lw.9o3.9mw 1~9ng.9nv.9mw 1~9nf.9o3 1~9nh.9o3.9mx 1~9nf.9oc.9nv 1~9nf.9oc.9o3
1~9ni.9lw.9m7.9nx 1~9ni.9lw.9nv 1~9ni.9mr.9n3 1~9ni.9nv.9m7 1~9ni.9o3.9mf.9nr.9o3 1~9nj.9m7.9nx.9o3 1~9nj.9nu
1~9nj.9nu.9n4.9oc.9nv 1~9nl.9m4 1~9nl.9m4.9mw.9o3 1~9nl.9oc.9mw.9nv 1~9no.9oc.9mx 1~9no.9oc.9nv 1~9nq.9lu.9o3
1~9nu.9mr.9mw.9nv 1~9nu.9nt 1~9nv.9n8.9oc 1~9nv.9oc.9na.9nv 1~9nw.9nk 1~9nw.9o3.9mw.9ma.9o3 1~9nz.9mr.9mw 1~1c.m9l
1~1d.m9l 1~1e.m9l 1~1f.m9l 1~1g.m9l 1~1h.m9l 1~1i.m9l 1~1j.m9l 1~1k.m9l 1~1l.m9l 1~1d.1c.m9l 1~1d.1d.m9l
1~1d.1e.m9l 1~1d.1f.m9l 1~1d.1g.m9l 1~1d.1h.m9l 1~1d.1i.m9l 1~1d.1j.m9l 1~1d.1k.m9l 1~1d.1l.m9l 1~1e.1c.m9l
1~1e.1d.m9l 1~1e.1e.m9l 1~1e.1f.m9l 1~1e.1g.m9l 1~2w.28.2p 1~2s.2p 1~1t.2d 1~2q.2p.36 1~33.2e 1~34.2r 1~2s.31
1~2s.31.4y 1~2s.31.4z 1~21.2d 1~inn.jdc 1~k6l.gp8 1~hlz.l7n 1~k5q.lh7 1~kkq.irz.fmi.ny6 1~34.1t 1~32.1t 1~qk.1t
1~31.1t 1~2z.1t 1~23.1u 1~25.1u 1~1z.1u 1~2r.2p.30 1~2z.2r.2p.30 1~34.1y 1~32.1y 1~qk.1y 1~qk.2v 1~31.2v 1~2z.2v
1~20.3e 1~2z.20.3e 1~25.20.3e 1~1z.20.3e 1~2c.20.3e 1~qk.6j7 1~31.6j7 1~2s.6j7 1~2z.6j7 1~2u.31 1~32.31 1~qk.31
1~31.31 1~2r.31 1~2z.31 1~31.31.4y 1~2r.31.4y 1~31.4y 1~2z.31.4y 1~31.31.4z 1~2r.31.4z 1~31.4z 1~2z.31.4z
1~31.6qd.37 1~31.6qd.37.4y 1~28.2p 1~2z.28.2p 1~25.28.2p 1~1z.28.2p 1~36.2p.2s 1~36.2p.2s.6qd.37
1~36.2p.2s.6qd.37.4y 1~34.37 1~32.37 1~qk.37 1~31.37 1~34.2e 1~32.2e 1~qk.2e 1~31.2e 1~2z.2e 1~25.2e 1~34.2f
1~32.2f 1~qk.2f 1~31.2f 1~2z.2f 1~25.2f 1~2z.q1 1~25.q1 1~2p.1a.31.1a 1~1u.35 1~2r.2r 1~2r.2s 1~1v.6qd.2z.2v
1~1v.33.1a 1~2s.1u 1~1z.3d 1~2w.2p 1~20.28 1~2x.32 1~23.23 1~23.25 1~2z.38 1~30.31 1~30.32 1~30.33.2v 1~30.3c
1~31.2q 1~31.2x.30 1~31.33.30 1~28.20 1~34.1a.31.1a 1~28.28.25 1~28.2a 1~37.36 1~2b.3a 1~2f.2q 1~2e.6qd.31
1~1t.6qd.31 1~1d.k4l 1~1e.k4l 1~1f.k4l 1~1g.k4l 1~1h.k4l 1~1i.k4l 1~1j.k4l 1~1k.k4l 1~1l.k4l 1~1d.1c.k4l
1~1d.1d.k4l 1~1d.1e.k4l 1~1d.1f.k4l 1~1d.1g.k4l 1~1d.1h.k4l 1~1d.1i.k4l 1~1d.1j.k4l 1~1d.1k.k4l 1~1d.1l.k4l
1~1e.1c.k4l 1~1e.1d.k4l 1~1e.1e.k4l 1~1e.1f.k4l 1~1e.1g.k4l 1~1e.1h.k4l 1~1e.1i.k4l 1~1e.1j.k4l 1~1e.1k.k4l
1~1e.1l.k4l 1~1f.1c.k4l 1~1f.1d.k4l 1~2v.2p.30 mn1~ui 1~uk 5v~x2n 3m~1v 1~1y 1~29 4~86 1~9f o3~x0n 1~xtj 1~h7 1~xua
a~i5 fbr!rpk 1!kc4 1!s7e 1!rt4 1!lw1 1!fg2 1!gkl 1!vj0 1!vj0 1!hn5 1!ssx 1!gw7 1!hmw 1!jcm 1!ne1 1!p6t 1!qin 1!qt6
1!r20 1!sjz 1!kxu 1!ljv 1!mah 1!mvy 1!q4d 1!sq2 1!uep 1!fia 1!ghh 1!l50 1!mjf 1!qi5 1!v8e 1!ifk 1!m3v 1!qfh 1!r50
1!jih 1!pnc 1!qvz 1!iq2 1!kd3 1!lm2 1!mpo 1!slq 1!fpi 1!g53 1!gda 1!jwk 1!l3n 1!mj4 1!nhj 1!pa9 1!qh2 1!qjg 1!s1b
1!tv6 1!upb 1!v7e 1!nt8 1!nzz 1!otc 1!q15 1!t1g 1!vb3 1!rfa 1!hjz 1!iro 1!okg 1!pdq 1!mle 1!nuy 1!rsy 1!ttj 1!hjs
1!i8y 1!kyb 1!lp6 1!lxr 1!oq7 1!oxj 1!tor 1!gcy 1!pe3 1!g64 1!g5o 1!o4c 1!ou6 1!q29 1!tpx 1!rk0 1!jin 1!kxu 1!rge
1!fg9 1!i5j 1!iz6 1!mtj 1!n74 1!gev 1!nwb 1!fr3 1!iw9 1!ff1 1!lho 1!k1k 1!opu 1!gjn 1!hge 1!ni9 1!q4p 1!re2 1!la2
1!sds 1!lfs 1!jjy 1!put 1!jog 1!n6t 1!fji 1!g2x 1!g5l 1!kn5 1!oo7 1!prj 1!rf6 1!ssv 1!gdx 1!gn6 1!ho3 1!ir0 1!k3p
1!m4e 1!nxm 1!tkd 1!ui2 1!vbr 1!vda 1!gbf 1!kau 1!l87 1!sbm 1!ino 1!j9s 1!jcw 1!jve 1!lyb 1!mdl 1!n0p 1!o22 1!ovo
1!pdb 1!s9y 1!q9a 1!sgz 1!t3e 1!g7r 1!gbn 1!gql 1!ma0 1!r0i 1!re2 1!iq1 1!iyd 1!jnf 1!l9q 1!oji 1!mt1 1!fl0 1!h6h
1!i5j 1!iii 1!izg 1!muq 1!mzt 1!p7e 1!pc6 1!svo 1!tti 1!tvs 1!u1k 1!fpn 1!o1a 1!ss4 1!trs 1!j4x 1!fie 1!fyy 1!i5q
1!i7z 1!k2h 1!kxu 1!mha 1!ncy 1!q9o 1!sjg 1!vil 1!k94 1!tny 1!gax 1!kfv 1!kj7 1!lkx 1!luk 1!mx5 1!n6h 1!nsb 1!opc
1!u3i 1!g31 1!je6 1!tq0 1!fu3 1!ie1 1!lpm 1!sa2 1!ivf 1!j7o 1!kk7 1!mtj 1!tqe 1!g89 1!glr 1!i91 1!k5v 1!kem 1!ko8
1!lid 1!mx2 1!naa 1!p6h 1!r0v 1!r1d 1!sss 1!tsy 1!gfz 1!lve 1!gm5 1!mhc 1!n14 1!qgq 1!tr7 1!uvr 1!vbz 1!kgn 1!lor
1!pns 1!o97 1!obk 1!olu 1!mo0 1!m8p 1!riw 1!fk0 1!px2 1!g8q 1!g7b 1!ip2 1!jir 1!onq 1!i2t 1!ljy 1!kac 1!saj 1!qx8
1!tot 1!r63 1!iqb 1!g1s 1!gxs 3!hga 2!k8k 3!g66 1!mqy 1!ngq 1!ny4 1!nz2 1!nz9 1!o0f 1!tw6 1!on2 1!p8d 2!qhe 2!rg8
3!shk 1!sn1 4!u7j 1!u7w 1!u94 1!v5g 1!sm6 1!trr 1!fqm 1!fzb 1!g25 1!gcp 1!gdg 1!ggh 1!gwt 1!gzq 1!h2g 1!hfk 1!hig
1!i90 1!i9a 1!j2s 1!j8o 1!j9q 1!jci 1!k0f 1!k4i 1!k9d 1!kn9 1!lmf 1!lqy 1!lya 1!mem 1!mjv 1!mxu 1!ntd 1!ny6 1!nyh
1!nyg 1!nyo 1!nyu 1!nz1 1!o0d 1!o0e 1!o5c 1!o75 1!og0 1!ovo 1!ow9 1!oxt 1!p6a 1!pad 1!pnx 1!prt 1!prt 1!q53 1!r2o
1!r6e 1!rgh 1!ri1 1!rtf 1!ruw 1!sdy 1!shk 1!tsz 1!u0v 1!u2j 1!j1x 1!36cu 1!pp4 3!ffq 1!g51 1!g2w 1!fpc 1!g1x 1!g3k
1!gcn 1!ge2 1!gwt 1!gut 1!gwp 1!gyq 1!hga 1!hir 1!hms 1!hn8 1!huq 1!i08 1!iqa 1!iqh 1!iuh 1!iwd 1!j4o 1!j7y 1!j60
1!j9q 1!j8g 1!jci 1!jec 1!jpg 1!jrw 1!jte 1!k0m 1!k8k 1!kd3 1!kd7 1!keu 1!l89 1!la2 1!lkx 1!lwb 1!lvv 1!lya 1!m5a
1!mem 1!nmv 1!mk5 1!mnj 1!mqy 1!n01 1!n46 1!n5n 1!nbx 1!nbz 1!ngq 1!nh7 1!nhw 1!nka 1!nk0 1!nv0 1!o8h 1!og0 1!ol7
1!orf 1!ovo 1!p4u 1!pad 1!pxu 1!q27 1!qrd 1!r41 1!r5y 1!r6e 1!ren 1!rg8 1!rez 1!rgh 1!rge 1!rfx 1!ri1 1!rka 1!ruw
1!sag 1!sj6 1!srd 1!sxi 1!tq4 1!tsz 1!tw6 1!tzv 1!u0v 1!u17 1!u2j 1!umq 1!vj0 1!313e 1!3138 1!33dh 1!brx 1!cns
1!cop 1!39e1 1!3bgw 1!3i6r 1!vgj 1!vim 13~2u.2u 1~2u.2x 1~2u.30 1~2u.2u.2x 1~2u.2u.30 1~an.38 1~37.38 d~12s.12u
1~12s.12d 1~12s.12j 1~132.12u 1~12s.12l 6!15l.14k 2!16a.14n 1~15u 1~15c 1~15f 1~15g 1~15n 1~15o 1~15p 1~160 1~162
1~17 1!161.14x 1!161.14y 1!1dmx.14x 1!1dmx.14y 1!15c.14n 1!15c.14o 1!15c.14s 1!15d.14s 1!15e.14s 1!15f.14s
1!15g.14s 1!15h.14s 1!15i.14s 2!15k.14s 1!15l.14s 1!15m.14s 1!15n.14s 1!15o.14s 2!15q.14s 2!15s.14s 1!15t.14s
2!15v.14s 1!15w.14s 2!15y.14s 1!15z.14s 1!160.14s 1!161.14s 1!162.14s 1!15h.14p 1!15d.14v 1!15n.14v 1!15w.14v
1~15c.15o 1~19t 1~19t 1~1a3 1~1a3 1~1a3 1~1a3 1~1a6 1~1a6 1~1a6 1~1a6 1~1a8 1~1a8 1~1a8 1~1a8 1~1a2 1~1a2 1~1a2
1~1a2 1~1a7 1~1a7 1~1a7 1~1a7 1~1a1 1~1a1 1~1a1 1~1a1 1~1b8 1~1b8 1~1b8 1~1b8 1~1ba 1~1ba 1~1ba 1~1ba 1~1ac 1~1ac
1~1ac 1~1ac 1~1ab 1~1ab 1~1ab 1~1ab 1~1ae 1~1ae 1~1ae 1~1ae 1~1af 1~1af 1~1af 1~1af 1~1al 1~1al 1~1ak 1~1ak 1~1am
1~1am 1~1ag 1~1ag 1~1aw 1~1aw 1~1ap 1~1ap 1~1bd 1~1bd 1~1bd 1~1bd 1~1bj 1~1bj 1~1bj 1~1bj 1~1bn 1~1bn 1~1bn 1~1bn
1~1bl 1~1bl 1~1bl 1~1bl 1~1bu 1~1bu 1~1bv 1~1bv 1~1bv 1~1bv 1~1c0 1~1c0 1~1c1 1~1c1 1~1c1 1~1c1 1~1by 1~1by 1~1by
1~1by 1~1ci 1~1ci 1~1cj 1~1cj y~1bh 1~1bh 1~1bh 1~1bh 1~1c7 1~1c7 1~1c6 1~1c6 1~1c8 1~1c8 1~19z 1~1cb 1~1cb 1~1c5
1~1c5 1~1c9 1~1c9 1~1cg 1~1cg 1~1cg 1~1cg 1~18p 1~18p 1~17q.17r 1~17q.17r 1~17q.1cl 1~17q.1cl 1~17q.18o 1~17q.18o
1~17q.1c7 1~17q.1c7 1~17q.1c6 1~17q.1c6 1~17q.1c8 1~17q.1c8 1~17q.1cg 1~17q.1cg 1~17q.1cg 1~17q.18p 1~17q.18p
1~17q.18p 1~1cc 1~1cc 1~1cc 1~1cc 1~17q.17w 1~17q.17x 1~17q.18l 1~17q.18p 1~17q.18q 1~17s.17w 1~17s.17x 1~17s.17y
1~17s.18l 1~17s.18p 1~17s.18q 1~17u.17w 1~17u.17x 1~17u.17y 1~17u.18l 1~17u.18p 1~17u.18q 1~17v.17w 1~17v.18l
1~17v.18p 1~17v.18q 1~17w.17x 1~17w.18l 1~17x.17w 1~17x.18l 1~17y.17w 1~17y.17x 1~17y.18l 1~183.17w 1~183.17x
1~183.17y 1~183.18l 1~185.17x 1~185.18l 1~186.17w 1~186.17x 1~186.17y 1~186.18l 1~187.17x 1~187.18l 1~188.18l
1~189.17w 1~189.18l 1~18a.17w 1~18a.18l 1~18h.17w 1~18h.17x 1~18h.17y 1~18h.18l 1~18h.18p 1~18h.18q 1~18i.17x
1~18i.18l 1~18i.18p 1~18i.18q 1~18j.17r 1~18j.17w 1~18j.17x 1~18j.17y 1~18j.18k 1~18j.18l 1~18j.18p 1~18j.18q
1~18k.17w 1~18k.17x 1~18k.17y 1~18k.18l 1~18k.18p 1~18k.18q 1~18l.17w 1~18l.17x 1~18l.17y 1~18l.18l 1~18l.18p
1~18l.18q 1~18m.17w 1~18m.17x 1~18m.17y 1~18m.18l 1~18m.18p 1~18m.18q 1~18n.17w 1~18n.18l 1~18n.18p 1~18n.18q
1~18q.17w 1~18q.17x 1~18q.17y 1~18q.18l 1~18q.18p 1~18q.18q 1~180.19s 1~181.19s 1~18p.19s 1~w.18s.18x 1~w.18t.18x
1~w.18u.18x 1~w.18v.18x 1~w.18w.18x 1~w.18x.19s 1~17q.181 1~17q.182 1~17q.18l 1~17q.18m 1~17q.18p 1~17q.18q
1~17s.181 1~17s.182 1~17s.18l 1~17s.18m 1~17s.18p 1~17s.18q 1~17u.181 1~17u.182 1~17u.18l 1~17u.18m 1~17u.18p
1~17u.18q 1~17v.181 1~17v.182 1~17v.18l 1~17v.18m 1~17v.18p 1~17v.18q 1~18h.18p 1~18h.18q 1~18i.18p 1~18i.18q
1~18j.17r 1~18j.18k 1~18j.18l 1~18j.18p 1~18j.18q 1~18k.18l 1~18k.18p 1~18k.18q 1~18l.17r 1~18l.18l 1~18m.181
1~18m.182 1~18m.18l 1~18m.18m 1~18m.18p 1~18m.18q 1~18p.19s 1~18q.181 1~18q.182 1~18q.18l 1~18q.18m 1~18q.18p
1~18q.18q 1~17q.17w 1~17q.17x 1~17q.17y 1~17q.18l 1~17q.18n 1~17s.17w 1~17s.17x 1~17s.17y 1~17s.18l 1~17s.18n
1~17u.17w 1~17u.17x 1~17u.17y 1~17u.18l 1~17u.18n 1~17v.18l 1~17w.17x 1~17w.18l 1~17x.17w 1~17x.18l 1~17y.17w
1~17y.18l 1~183.17w 1~183.17x 1~183.17y 1~183.18l 1~185.17x 1~185.17y 1~185.18l 1~186.17w 1~186.17x 1~186.17y
1~186.18l 1~187.17x 1~188.18l 1~189.17w 1~189.18l 1~18a.17w 1~18a.18l 1~18h.17w 1~18h.17x 1~18h.17y 1~18h.18l
1~18i.17x 1~18i.18l 1~18j.17w 1~18j.17x 1~18j.17y 1~18j.18k 1~18j.18l 1~18k.17w 1~18k.17x 1~18k.17y 1~18k.18l
1~18k.18n 1~18l.17w 1~18l.17x 1~18l.17y 1~18l.18l 1~18m.17w 1~18m.17x 1~18m.17y 1~18m.18l 1~18m.18n 1~18n.17w
1~18n.18l 1~18n.19s 1~18q.17w 1~18q.17x 1~18q.17y 1~18q.18l 1~18q.18n 1~17q.18l 1~17q.18n 1~17s.18l 1~17s.18n
1~17u.18l 1~17u.18n 1~17v.18l 1~17v.18n 1~183.18l 1~183.18n 1~184.18l 1~184.18n 1~18j.18k 1~18j.18l 1~18k.18l
1~18m.18l 1~18m.18n 1~18q.18l 1~18q.18n 1~18g.18u.18x 1~18g.18v.18x 1~18g.18w.18x 1~187.18p 1~187.18q 1~189.18p
1~189.18q 1~18a.18p 1~18a.18q 1~183.18p 1~183.18q 1~184.18p 1~184.18q 1~17x.18p 1~17x.18q 1~17w.18p 1~17w.18q
1~17y.18p 1~17y.18q 1~185.18p 1~185.18q 1~186.18p 1~186.18q 1~184.17w 1~184.17x 1~184.17y 1~184.18l 1~184.181
1~183.181 1~185.181 1~186.181 1~187.18p 1~187.18q 1~189.18p 1~189.18q 1~18a.18p 1~18a.18q 1~183.18p 1~183.18q
1~184.18p 1~184.18q 1~17x.18p 1~17x.18q 1~17w.18p 1~17w.18q 1~17y.18p 1~17y.18q 1~185.18p 1~185.18q 1~186.18p
1~186.18q 1~184.17w 1~184.17x 1~184.17y 1~184.18l 1~184.181 1~183.181 1~185.181 1~186.181 1~184.17w 1~184.17x
1~184.17y 1~184.18l 1~183.18n 1~184.18n 1~187.18l 1~183.17w 1~183.17x 1~183.17y 1~184.17w 1~184.17x 1~184.17y
1~187.18l 1~188.18l 1~17r.18r 1~17r.18r j~17u.17w.18l 1~17u.17x.17w 1~17u.17x.17w 1~17u.17x.18l 1~17u.17y.18l
1~17u.18l.17w 1~17u.18l.17x 1~17u.18l.17y 1~17w.18l.17x 1~17w.18l.17x 1~17x.18l.18q 1~17x.18l.18p 1~183.17x.17w
1~183.17w.17x 1~183.17w.18p 1~183.18l.17x 1~183.18l.17x 1~183.18l.17w 1~183.18l.18l 1~183.18l.18l 1~185.17x.17x
1~185.17x.17x 1~185.18l.18l 1~184.17x.18l 1~184.17x.18l 1~184.17w.18q 1~184.18l.17y 1~184.18l.17y 1~184.18l.18l
1~184.18l.18l 1~186.17x.18p 1~186.17y.18l 1~186.17y.18l 1~187.18l.17x 1~187.18l.17x 1~187.18l.18l 1~187.18l.18q
1~189.17w.18l 1~189.18l.18l 1~189.18l.18l 1~189.18l.18p 1~18a.18l.18l 1~18a.18l.18q 1~18a.18l.18p 1~18h.17y.18l
1~18h.17y.18l 1~18i.18l.17x 1~18i.18l.18l 1~18k.17x.18l 1~18k.17x.18q 1~18k.17x.18p 1~18k.17w.17w 1~18k.17w.17w
1~18k.17y.18l 1~18k.17y.18l 1~18k.18l.17x 1~18k.18l.17x 1~18l.17x.17w 1~18l.17x.18l 1~18l.17x.18q 1~18l.17w.17x
1~18l.17w.18l 1~18l.17y.17w 1~18l.17y.18l 3~18l.17w.17y 1~18n.18l.17w 1~18n.18l.18l 1~18m.17x.18l 1~18m.17x.18p
1~18m.17w.18l 1~18m.17w.18l 1~18m.17w.18p 1~18m.18l.18q 1~18m.18l.18p 1~18q.18l.18l 1~18q.18l.18l 1~17s.17y.18q
1~17u.17w.18q 1~17u.17w.18p 1~17u.17y.18q 1~17u.17y.18p 1~17u.18l.18q 1~17u.18l.18p 1~17w.18l.18q 1~17w.17x.18p
1~17w.18l.18p 1~183.17y.18p 1~185.17x.18q 1~184.17x.18q 1~186.17x.18q 1~18k.17w.18q 1~18k.18l.18q 1~18q.17x.18q
1~18q.17w.18q 1~18q.18l.18q 1~18l.18l.18q 1~18i.18l.18q 1~18m.17x.18q 1~18i.18l.17x 1~18k.17x.18l 1~189.18l.18q
1~18j.18l.18q 1~18m.17w.17x 1~18l.17y.18q 1~18k.17w.18l 1~18j.18l.18l 1~18k.17w.18l 1~18m.17w.17x 1~17w.17x.18q
1~17x.17w.18q 1~18l.17w.18q 1~18h.18l.18q 1~17s.17x.18q 1~18j.18l.18l 1~189.17w.18l 1~185.18l.18l 1~183.17y.18q
1~18m.17w.18q 15~185.18k.1ci 1~18i.18k.1ci 1~17r.18k.18k.18n 1~17r.18j.17s.181 1~18l.17x.18l.17z 1~185.18k.189.18l
1~181.183.18o.18k 1~189.18k.18q.18n 1~18o.183.18k.18l 1~185.18k.18p
1~185.18k.18p.w.17r.18k.18k.18n.w.189.18k.18q.18n.w.18o.183.18k.18l 1~17w.18k.w.17w.18k.17r.18k.18n
1~181.1cc.17r.18k k~18 1~9hd 1~9he 1~1m 1~1n 1~x 1~1r 1~9hy 1~9hz 1~6cm n~6cl 1~6c4 1~6c3 1~2n 1~2n 1~14 1~15 1~3f
1~3h 1~9hw 1~9hx 1~9hs 1~9ht 1~9hm 1~9hn 1~9hk 1~9hl 1~9ho 1~9hp 1~9hq 1~9hr 3~2j 1~2l 1~6da 1~6da 1~6da 1~6da 1~2n
1~2n 1~2n 1~18 1~9hd 1~1a 2~1n 1~1m 1~1r 1~x 1~6c4 1~14 1~15 1~3f 1~3h 1~9hw 1~9hx 1~z 1~12 1~16 1~17 1~19 1~1o
1~1q 1~1p 2~2k 1~10 1~11 1~1s 5~w.18r 1~18g.18r 1~w.18s 2~w.18t 2~w.18u 1~18g.18u 1~w.18v 1~18g.18v 1~w.18w
1~18g.18w 1~w.18x 1~18g.18x 1~w.18y 1~18g.18y 1~17l 1~17m 1~17m 1~17n 1~17n 1~17o 1~17o 1~17p 1~17p 1~17q 1~17q
1~17q 1~17q 1~17r 1~17r 1~17s 1~17s 1~17s 1~17s 1~17t 1~17t 1~17u 1~17u 1~17u 1~17u 1~17v 1~17v 1~17v 1~17v 1~17w
1~17w 1~17w 1~17w 1~17x 1~17x 1~17x 1~17x 1~17y 1~17y 1~17y 1~17y 1~17z 1~17z 1~180 1~180 1~181 1~181 1~182 1~182
1~183 1~183 1~183 1~183 1~184 1~184 1~184 1~184 1~185 1~185 1~185 1~185 1~186 1~186 1~186 1~186 1~187 1~187 1~187
1~187 1~188 1~188 1~188 1~188 1~189 1~189 1~189 1~189 1~18a 1~18a 1~18a 1~18a 1~18h 1~18h 1~18h 1~18h 1~18i 1~18i
1~18i 1~18i 1~18j 1~18j 1~18j 1~18j 1~18k 1~18k 1~18k 1~18k 1~18l 1~18l 1~18l 1~18l 1~18m 1~18m 1~18m 1~18m 1~18n
1~18n 1~18n 1~18n 1~18o 1~18o 1~18p 1~18p 1~18q 1~18q 1~18q 1~18q 1~18k.17m 1~18k.17m 1~18k.17n 1~18k.17n 1~18k.17p
1~18k.17p 1~18k.17r 1~18k.17r 5~x 1~y 1~z 1~10 1~11 1~12 1~13 1~14 1~15 1~16 1~17 1~18 1~19 1~1a 1~1b 1~1c 1~1d
1~1e 1~1f 1~1g 1~1h 1~1i 1~1j 1~1k 1~1l 1~1m 1~1n 1~1o 1~1p 1~1q 1~1r 1~1s 1~1t 1~1u 1~1v 1~1w 1~1x 1~1y 1~1z 1~20
1~21 1~22 1~23 1~24 1~25 1~26 1~27 1~28 1~29 1~2a 1~2b 1~2c 1~2d 1~2e 1~2f 1~2g 1~2h 1~2i 1~2j 1~2k 1~2l 1~2m 1~2n
1~2o 1~2p 1~2q 1~2r 1~2s 1~2t 1~2u 1~2v 1~2w 1~2x 1~2y 1~2z 1~30 1~31 1~32 1~33 1~34 1~35 1~36 1~37 1~38 1~39 1~3a
1~3b 1~3c 1~3d 1~3e 1~3f 1~3g 1~3h 1~3i 1~879 1~87a 1~9he 1~9ho 1~9hp 1~9hd 1~9ob 1~9o2 1~9lt 1~9lv 1~9lx 1~9lz
1~9m1 1~9nn 1~9np 1~9nr 1~9mr 1~9oc 1~9lu 1~9lw 1~9ly 1~9m0 1~9m2 1~9m3 1~9m5 1~9m7 1~9m9 1~9mb 1~9md 1~9mf 1~9mh
1~9mj 1~9ml 1~9mn 1~9mp 1~9ms 1~9mu 1~9mw 1~9my 1~9mz 1~9n0 1~9n1 1~9n2 1~9n3 1~9n6 1~9n9 1~9nc 1~9nf 1~9ni 1~9nj
1~9nk 1~9nl 1~9nm 1~9no 1~9nq 1~9ns 1~9nt 1~9nu 1~9nv 1~9nw 1~9nx 1~9nz 1~9o3 1~9ll 1~9lm 1~9r8 1~9pt 1~9pu 1~9pv
1~9pw 1~9px 1~9py 1~9pz 1~9q0 1~9q1 1~9q2 1~9q3 1~9q4 1~9q5 1~9q6 1~9q7 1~9q8 1~9q9 1~9qa 1~9qb 1~9qc 1~9qd 1~9qe
1~9qf 1~9qg 1~9qh 1~9qi 1~9qj 1~9qk 1~9ql 1~9qm 4~9qn 1~9qo 1~9qp 1~9qq 1~9qr 1~9qs 3~9qt 1~9qu 1~9qv 1~9qw 1~9qx
1~9qy 3~9qz 1~9r0 1~9r1 1~9r2 1~9r3 1~9r4 3~9r5 1~9r6 1~9r7 4~4i 1~4j 1~4s 1~4v 1~4m 1~4l 1~6g9 2~7b6 1~6mo 1~6mp
1~6mq 1~6mr 1~7fk 1~7gr 15n:1fpu.lj r:1fq2.lj bh~k0 1~k1 1~6e 1~ih 1~gj 2~ir 1~xuu 1~it 1~is 1~gm 1~gn 1~5u9 1~go
1~gu 1~ix 1~h0 1~gy 1~gw 1~ij 1~87 1~ik 1~h3 1~hw 1~iy 1~iz 1~h8 1~2mmc 1~x3i 1~ha 1~2mmd 1~i6 1~2mme 1~6w 1~hi
1~hj 1~35 1~hm 1~2mmg 1~hp 1~hq 1~hs 1~iw 1~iu 1~xuv 1~iv 1~i0 1~8s1 2~i7 1~ip 1~iq 1~ig 1~cg 1~ch 1~ci 1~2mmi
1~2mn2 1r4:1huh.1hve 2:1huj.1hve f:1hut.1hve 3n:1hyp.1hyf 1:1hyq.1hyf f0:1idj.1ida 1:1idj.1idz 1j:1if6.1ih5
2:1if8.1igr 9:1iff.1igy 3:1ifk.1ih5 1g:1igy.1igy 2:1igy.1igo 1:1igy.1ih5 6r:1int.1inu 1:1int.1ink 2:1int.1inx
70:1iuw.1iun 1:1iux.1iun ot:1jjp.1jjk e7d:1xr2.1xr2 1:1xr2.1xrd 1:1xr2.1xr3 1:1xrd.1xr3 1:1xr2.1xr4 1:1xr5.1xr3
1:1xr6.1xr3 1:1xr5.1xr4 2f4:206f.206f 1:206b.206f 1:206h.206f iuk~1t 1~1u 1~1v 1~1w 1~1x 1~1y 1~1z 1~20 1~21 1~22
1~23 1~24 1~25 1~26 1~27 1~28 1~29 1~2a 1~2b 1~2c 1~2d 1~2e 1~2f 1~2g 1~2h 1~2i 1~1c 1~1d 1~1e 1~1f 1~1g 1~1h 1~1i
1~1j 1~1k 1~1l v9!2jx3.2jxh 1!2jx4.2jxh 1!2jxb.2jxq 1!2jxb.2jxr 1!2jxb.2jxs 1!2jxb.2jxt 1!2jxb.2jxu 2f!2jzt.2jxh
1!2jzu.2jxh 1!2jzv.2jxq 1!2jzw.2jxq 1!2jzv.2jxr 1!2jzw.2jxr g0~1t 1~1u 1~1v 1~1w 1~1x 1~1y 1~1z 1~20 1~21 1~22 1~23
1~24 1~25 1~26 1~27 1~28 1~29 1~2a 1~2b 1~2c 1~2d 1~2e 1~2f 1~2g 1~2h 1~2i 1~2p 1~2q 1~2r 1~2s 1~2t 1~2u 1~2v 1~2w
1~2x 1~2y 1~2z 1~30 1~31 1~32 1~33 1~34 1~35 1~36 1~37 1~38 1~39 1~3a 1~3b 1~3c 1~3d 1~3e 1~1t 1~1u 1~1v 1~1w 1~1x
1~1y 1~1z 1~20 1~21 1~22 1~23 1~24 1~25 1~26 1~27 1~28 1~29 1~2a 1~2b 1~2c 1~2d 1~2e 1~2f 1~2g 1~2h 1~2i 1~2p 1~2q
1~2r 1~2s 1~2t 1~2u 1~2v 2~2x 1~2y 1~2z 1~30 1~31 1~32 1~33 1~34 1~35 1~36 1~37 1~38 1~39 1~3a 1~3b 1~3c 1~3d 1~3e
1~1t 1~1u 1~1v 1~1w 1~1x 1~1y 1~1z 1~20 1~21 1~22 1~23 1~24 1~25 1~26 1~27 1~28 1~29 1~2a 1~2b 1~2c 1~2d 1~2e 1~2f
1~2g 1~2h 1~2i 1~2p 1~2q 1~2r 1~2s 1~2t 1~2u 1~2v 1~2w 1~2x 1~2y 1~2z 1~30 1~31 1~32 1~33 1~34 1~35 1~36 1~37 1~38
1~39 1~3a 1~3b 1~3c 1~3d 1~3e 1~1t 2~1v 1~1w 3~1z 3~22 1~23 3~26 1~27 1~28 1~29 2~2b 1~2c 1~2d 1~2e 1~2f 1~2g 1~2h
1~2i 1~2p 1~2q 1~2r 1~2s 2~2u 2~2w 1~2x 1~2y 1~2z 1~30 1~31 1~32 2~34 1~35 1~36 1~37 1~38 1~39 1~3a 1~3b 1~3c 1~3d
1~3e 1~1t 1~1u 1~1v 1~1w 1~1x 1~1y 1~1z 1~20 1~21 1~22 1~23 1~24 1~25 1~26 1~27 1~28 1~29 1~2a 1~2b 1~2c 1~2d 1~2e
1~2f 1~2g 1~2h 1~2i 1~2p 1~2q 1~2r 1~2s 1~2t 1~2u 1~2v 1~2w 1~2x 1~2y 1~2z 1~30 1~31 1~32 1~33 1~34 1~35 1~36 1~37
1~38 1~39 1~3a 1~3b 1~3c 1~3d 1~3e 1~1t 1~1u 2~1w 1~1x 1~1y 1~1z 3~22 1~23 1~24 1~25 1~26 1~27 1~28 1~29 2~2b 1~2c
1~2d 1~2e 1~2f 1~2g 1~2h 2~2p 1~2q 1~2r 1~2s 1~2t 1~2u 1~2v 1~2w 1~2x 1~2y 1~2z 1~30 1~31 1~32 1~33 1~34 1~35 1~36
1~37 1~38 1~39 1~3a 1~3b 1~3c 1~3d 1~3e 1~1t 1~1u 2~1w 1~1x 1~1y 1~1z 2~21 1~22 1~23 1~24 1~25 2~27 4~2b 1~2c 1~2d
1~2e 1~2f 1~2g 1~2h 2~2p 1~2q 1~2r 1~2s 1~2t 1~2u 1~2v 1~2w 1~2x 1~2y 1~2z 1~30 1~31 1~32 1~33 1~34 1~35 1~36 1~37
1~38 1~39 1~3a 1~3b 1~3c 1~3d 1~3e 1~1t 1~1u 1~1v 1~1w 1~1x 1~1y 1~1z 1~20 1~21 1~22 1~23 1~24 1~25 1~26 1~27 1~28
1~29 1~2a 1~2b 1~2c 1~2d 1~2e 1~2f 1~2g 1~2h 1~2i 1~2p 1~2q 1~2r 1~2s 1~2t 1~2u 1~2v 1~2w 1~2x 1~2y 1~2z 1~30 1~31
1~32 1~33 1~34 1~35 1~36 1~37 1~38 1~39 1~3a 1~3b 1~3c 1~3d 1~3e 1~1t 1~1u 1~1v 1~1w 1~1x 1~1y 1~1z 1~20 1~21 1~22
1~23 1~24 1~25 1~26 1~27 1~28 1~29 1~2a 1~2b 1~2c 1~2d 1~2e 1~2f 1~2g 1~2h 1~2i 1~2p 1~2q 1~2r 1~2s 1~2t 1~2u 1~2v
1~2w 1~2x 1~2y 1~2z 1~30 1~31 1~32 1~33 1~34 1~35 1~36 1~37 1~38 1~39 1~3a 1~3b 1~3c 1~3d 1~3e 1~1t 1~1u 1~1v 1~1w
1~1x 1~1y 1~1z 1~20 1~21 1~22 1~23 1~24 1~25 1~26 1~27 1~28 1~29 1~2a 1~2b 1~2c 1~2d 1~2e 1~2f 1~2g 1~2h 1~2i 1~2p
1~2q 1~2r 1~2s 1~2t 1~2u 1~2v 1~2w 1~2x 1~2y 1~2z 1~30 1~31 1~32 1~33 1~34 1~35 1~36 1~37 1~38 1~39 1~3a 1~3b 1~3c
1~3d 1~3e 1~1t 1~1u 1~1v 1~1w 1~1x 1~1y 1~1z 1~20 1~21 1~22 1~23 1~24 1~25 1~26 1~27 1~28 1~29 1~2a 1~2b 1~2c 1~2d
1~2e 1~2f 1~2g 1~2h 1~2i 1~2p 1~2q 1~2r 1~2s 1~2t 1~2u 1~2v 1~2w 1~2x 1~2y 1~2z 1~30 1~31 1~32 1~33 1~34 1~35 1~36
1~37 1~38 1~39 1~3a 1~3b 1~3c 1~3d 1~3e 1~1t 1~1u 1~1v 1~1w 1~1x 1~1y 1~1z 1~20 1~21 1~22 1~23 1~24 1~25 1~26 1~27
1~28 1~29 1~2a 1~2b 1~2c 1~2d 1~2e 1~2f 1~2g 1~2h 1~2i 1~2p 1~2q 1~2r 1~2s 1~2t 1~2u 1~2v 1~2w 1~2x 1~2y 1~2z 1~30
1~31 1~32 1~33 1~34 1~35 1~36 1~37 1~38 1~39 1~3a 1~3b 1~3c 1~3d 1~3e 1~1t 1~1u 1~1v 1~1w 1~1x 1~1y 1~1z 1~20 1~21
1~22 1~23 1~24 1~25 1~26 1~27 1~28 1~29 1~2a 1~2b 1~2c 1~2d 1~2e 1~2f 1~2g 1~2h 1~2i 1~2p 1~2q 1~2r 1~2s 1~2t 1~2u
1~2v 1~2w 1~2x 1~2y 1~2z 1~30 1~31 1~32 1~33 1~34 1~35 1~36 1~37 1~38 1~39 1~3a 1~3b 1~3c 1~3d 1~3e 1~8h 1~fr 3~pd
1~pe 1~pf 1~pg 1~ph 1~pi 1~pj 1~pk 1~pl 1~pm 1~pn 1~po 1~pp 1~pq 1~pr 1~ps 1~pt 1~s4 1~pv 1~pw 1~px 1~py 1~pz 1~q0
1~q1 1~6pz 1~q9 1~qa 1~qb 1~qc 1~qd 1~qe 1~qf 1~qg 1~qh 1~qi 1~qj 1~qk 1~ql 1~qm 1~qn 1~qo 1~qp 1~qq 1~qr 1~qs 1~qt
1~qu 1~qv 1~qw 1~qx 1~6pu 1~s5 1~r5 1~s0 1~r9 1~s1 1~ra 1~pd 1~pe 1~pf 1~pg 1~ph 1~pi 1~pj 1~pk 1~pl 1~pm 1~pn 1~po
1~pp 1~pq 1~pr 1~ps 1~pt 1~s4 1~pv 1~pw 1~px 1~py 1~pz 1~q0 1~q1 1~6pz 1~q9 1~qa 1~qb 1~qc 1~qd 1~qe 1~qf 1~qg 1~qh
1~qi 1~qj 1~qk 1~ql 1~qm 1~qn 1~qo 1~qp 1~qq 1~qr 1~qs 1~qt 1~qu 1~qv 1~qw 1~qx 1~6pu 1~s5 1~r5 1~s0 1~r9 1~s1 1~ra
1~pd 1~pe 1~pf 1~pg 1~ph 1~pi 1~pj 1~pk 1~pl 1~pm 1~pn 1~po 1~pp 1~pq 1~pr 1~ps 1~pt 1~s4 1~pv 1~pw 1~px 1~py 1~pz
1~q0 1~q1 1~6pz 1~q9 1~qa 1~qb 1~qc 1~qd 1~qe 1~qf 1~qg 1~qh 1~qi 1~qj 1~qk 1~ql 1~qm 1~qn 1~qo 1~qp 1~qq 1~qr 1~qs
1~qt 1~qu 1~qv 1~qw 1~qx 1~6pu 1~s5 1~r5 1~s0 1~r9 1~s1 1~ra 1~pd 1~pe 1~pf 1~pg 1~ph 1~pi 1~pj 1~pk 1~pl 1~pm 1~pn
1~po 1~pp 1~pq 1~pr 1~ps 1~pt 1~s4 1~pv 1~pw 1~px 1~py 1~pz 1~q0 1~q1 1~6pz 1~q9 1~qa 1~qb 1~qc 1~qd 1~qe 1~qf 1~qg
1~qh 1~qi 1~qj 1~qk 1~ql 1~qm 1~qn 1~qo 1~qp 1~qq 1~qr 1~qs 1~qt 1~qu 1~qv 1~qw 1~qx 1~6pu 1~s5 1~r5 1~s0 1~r9 1~s1
1~ra 1~pd 1~pe 1~pf 1~pg 1~ph 1~pi 1~pj 1~pk 1~pl 1~pm 1~pn 1~po 1~pp 1~pq 1~pr 1~ps 1~pt 1~s4 1~pv 1~pw 1~px 1~py
1~pz 1~q0 1~q1 1~6pz 1~q9 1~qa 1~qb 1~qc 1~qd 1~qe 1~qf 1~qg 1~qh 1~qi 1~qj 1~qk 1~ql 1~qm 1~qn 1~qo 1~qp 1~qq 1~qr
1~qs 1~qt 1~qu 1~qv 1~qw 1~qx 1~6pu 1~s5 1~r5 1~s0 1~r9 1~s1 1~ra 1~rg 1~rh 3~1c 1~1d 1~1e 1~1f 1~1g 1~1h 1~1i 1~1j
1~1k 1~1l 1~1c 1~1d 1~1e 1~1f 1~1g 1~1h 1~1i 1~1j 1~1k 1~1l 1~1c 1~1d 1~1e 1~1f 1~1g 1~1h 1~1i 1~1j 1~1k 1~1l 1~1c
1~1d 1~1e 1~1f 1~1g 1~1h 1~1i 1~1j 1~1k 1~1l 1~1c 1~1d 1~1e 1~1f 1~1g 1~1h 1~1i 1~1j 1~1k 1~1l 1m9~ts 1~tt 1~tu
1~tv 1~tw 1~tx 1~ty 1~tz 1~u0 1~u2 1~u3 1~u4 1~u6 1~u7 1~u8 1~u9 1~ua 1~ub 1~uc 1~ud 1~ue 1~uf 1~ug 1~uj 1~ul 1~um
1~ww9 1~yh 1~uu 1~uw 1~yx 1~xb 1~y7 1~ts 1~tt 1~tu 1~tv 1~tw 1~tx 1~ty 1~tz 1~u0 1~u2 1~u3 1~u6 1~u7 1~u9 1~ub 1~uc
1~ud 1~ue 1~uf 1~ug 1~ui 1~uj 1~wh 1~uu 1~ut 1~v3 1~x7 1~wup 1~xd 2oj~17r 1~17s 1~17w 1~17z 2~18o 1~182 1~17x 1~187
1~18q 1~18j 1~18k 1~18l 1~18m 1~183 1~189 1~18h 1~185 1~18i 1~181 1~184 1~17u 1~17v 1~17y 1~180 1~186 1~188 1~18a
1~19q 1~1bu 1~1b5 1~19r 2~17s 1~17w 2~18n 3~17x 2~18q 1~18j 1~18k 1~18l 1~18m 1~183 1~189 1~18h 1~185 1~18i 2~184
1~17u 1~17v 1~17y 2~186 2~18a 7~17w 5~17x 2~18q 2~18k 2~18m 1~183 1~189 2~185 1~18i 2~184 3~17y 2~186 2~18a 2~1bu
2~19r 2~17s 1~17w 2~18n 3~17x 1~187 1~18q 1~18j 2~18l 1~18m 1~183 1~189 1~18h 1~185 1~18i 2~184 1~17u 1~17v 1~17y
2~186 1~188 1~18a 1~19q 2~1b5 2~17r 1~17s 1~17w 1~17z 1~18n 1~18o 1~182 1~17x 1~187 1~18q 2~18k 1~18l 1~18m 1~183
1~189 1~18h 1~185 1~18i 1~181 1~184 1~17u 1~17v 1~17y 1~180 1~186 1~188 1~18a 6~17s 1~17w 1~17z 2~18o 1~182 1~17x
1~187 1~18q 2~18k 1~18l 1~18m 1~183 1~189 1~18h 1~185 1~18i 1~181 1~184 1~17u 1~17v 1~17y 1~180 1~186 1~188 1~18a
g5~1c.1a 1~1c.18 1~1d.18 1~1e.18 1~1f.18 1~1g.18 1~1h.18 1~1i.18 1~1j.18 1~1k.18 1~1l.18 6~14.1t.15 1~14.1u.15
1~14.1v.15 1~14.1w.15 1~14.1x.15 1~14.1y.15 1~14.1z.15 1~14.20.15 1~14.21.15 1~14.22.15 1~14.23.15 1~14.24.15
1~14.25.15 1~14.26.15 1~14.27.15 1~14.28.15 1~14.29.15 1~14.2a.15 1~14.2b.15 1~14.2c.15 1~14.2d.15 1~14.2e.15
1~14.2f.15 1~14.2g.15 1~14.2h.15 1~14.2i.15 1~9hw.2b.9hx 1~1v 1~2a 1~1v.1w 1~2f.2i 2~1t 1~1u 1~1v 1~1w 1~1x 1~1y
1~1z 1~20 1~21 1~22 1~23 1~24 1~25 1~26 1~27 1~28 1~29 1~2a 1~2b 1~2c 1~2d 1~2e 1~2f 1~2g 1~2h 1~2i 1~20.2e 1~25.2e
1~2b.1w 1~2b.2b 1~28.28.2e 1~2f.1v r~25.1v 1~25.1w 1~25.2a 10~1w.22 34~9kr.9jf 1~9mb.9mb 1~9md e~jez 1~i1j 1~gjw
1~9mv 1~fik 1~hlm 1~r8j 1~hm1 1~fj8 1~k68 1~mch 1~k2h 1~g99 1~ivg 1~g3x 1~k34 1~g7x 1~oqq 1~n4v 1~rs9 1~hkg 1~gmx
1~lxw 1~jh1 1~jmd 1~feo 1~fex 1~si2 1~ijq 1~ffx 1~gkz 1~jk7 1~rxs 1~jf7 1~o01 1~o6y 1~glk 1~lts 1~kcp 1~kco 1~n5f
1~gaa 1~gxi 1~sp9 5~9hw.kdo.9hx 1~9hw.fex.9hx 1~9hw.fik.9hx 1~9hw.i2x.9hx 1~9hw.m9l.9hx 1~9hw.jf7.9hx 1~9hw.nh3.9hx
1~9hw.gd9.9hx 1~9hw.k0n.9hx 8~ivr 1~gkv 1wf~1c 1~1d 1~1e 1~1f 1~1g 1~1h 1~1i 1~1j 1~1k 1~1l 1ds7!fgd 1!fg8 1!fgh
1!2tcy 1!fog 1!fqm 1!fqz 1!fsy 1!fwa 1!fx5 1!fzb 1!fyn 1!ae6 1!2ud6 1!g25 1!g2c 1!g2s 1!g3b 1!2u58 1!aex 1!g2v
1!g3x 1!2u6j 1!g47 1!g4k 1!fkc 1!g4s 1!g51 1!3ly7 1!g6t 1!g77 1!afz 1!g8r 1!g92 1!gaa 1!gaf 1!ahh 1!gcn 1!gcp 1!gdg
1!ge2 1!ged 1!gee 1!gev 1!gg9 1!ggh 1!ggq 1!ghf 1!ghp 1!ghr 1!ghr 1!ghr 1!2v58 1!m7k 1!gju 1!gkf 1!2vdv 1!gkr 1!gkx
1!gli 1!gpq 1!gmw 1!gnc 1!go8 1!gpu 1!gs6 1!gsw 1!gur 1!gv7 1!gw4 1!gw4 1!gwp 1!gx7 1!gxf 1!gxu 1!h7a 1!gzq 1!h7b
1!h1t 1!h2s 1!g7b 1!hke 1!hce 1!hdg 1!he5 1!haj 1!hf6 1!hf5 1!hik 1!2x9g 1!hki 1!hkn 1!hl2 1!hlm 1!hlu 1!hnm 1!2xm0
1!2xnu 1!hrg 1!hsr 1!ht3 1!hqw 1!huu 1!aum 1!av0 1!hzc 1!i0u 1!i0u 1!2y88 1!i4j 1!i54 1!i5j 1!i5v 1!2yhk 1!i67
1!i6e 1!itv 1!i76 1!ayp 1!i8w 1!i9a 1!ibk 1!ia5 1!2z1g 1!if7 1!2z1i 1!ige 1!igb 1!igs 1!ijl 1!ijm 1!b3j 1!ikd 1!ilk
1!im5 1!ind 1!b4y 1!2zr7 1!b5o 1!ipc 1!ipf 1!ipi 1!iq2 1!3pg2 1!iri 1!3035 1!3035 1!poh 1!isi 1!isi 1!b7r 1!335k
1!3cgq 1!iua 1!iuj 1!b8j 1!ivu 1!ix9 1!ixj 1!iyh 1!j29 1!bay 1!ba4 1!j2s 1!30t0 1!j47 1!j7s 1!j7w 1!j7y 1!j7w 1!j96
1!j9q 1!jaq 1!jac 1!jan 1!jby 1!jci 1!jcm 1!jdc 1!jdn 1!jfh 1!jht 1!jis 1!jm8 1!31n0 1!jlp 1!jjw 1!jmw 1!jnn 1!jqc
1!31td 1!js2 1!jph 1!jop 1!bhq 1!ju1 1!jum 1!jvh 1!juf 1!bjg 1!k0f 1!k18 1!32mi 1!k4j 1!kc8 1!k7d 1!bo9 1!k9d 1!bns
1!bms 1!g42 1!g45 1!kcg 1!k9o 1!pf1 1!deh 1!kd3 1!kd7 1!kdd 1!kf2 1!ker 1!33cz 1!bpl 1!kje 1!kg5 1!klu 1!kn9 1!33hp
1!kni 1!kkf 1!kr8 1!brx 1!ksi 1!kv7 1!kx6 1!l2g 1!33xf 1!l3v 1!bvc 1!l5t 1!34br 1!l78 1!bwu 1!l82 1!l9b 1!la2 1!la3
1!34p9 1!2yvf 1!34sa 1!le6 1!354s 1!lhb 1!lhp 1!lev 1!ljq 1!lku 1!lmf 1!lkx 1!lm1 1!lmg 1!lmt 1!357i 1!lkk 1!lrj
1!lta 1!c37 1!lvv 1!lvr 1!35jl 1!lq1 1!m0e 1!35ni 1!35ou 1!m2u 1!m61 1!m5a 1!m57 1!c5y 1!m6i 1!m7x 1!m7r 1!m99
1!2u5h 1!mdh 1!368z 1!mfw 1!36i3 1!mjs 1!mk5 1!mkw 1!36yw 1!mm8 1!mmt 1!3779 1!37dg 1!mt6 1!mtn 1!cdo 1!mud 1!ce0
1!ce0 1!myv 1!mzg 1!n01 1!n0l 1!n2i 1!cgr 1!n50 1!386u 1!n5q 1!389e 1!n74 1!2zrz 1!nbk 1!38v5 1!38vs 1!38zo 1!cn0
1!cnc 1!nhw 1!394j 1!394i 1!395l 1!396b 1!nj2 1!nj3 1!nj3 1!nka 1!cop 1!nm3 1!cp2 1!cra 1!39r1 1!nri 1!nt8 1!nv0
1!ctf 1!3a5i 1!nyu 1!3a8q 1!3a9x 1!o0f 1!o2z 1!cvj 1!o5c 1!o5m 1!o5r 1!3at8 1!3b1j 1!3b1j 1!oa6 1!d1e 1!3b8r 1!og6
1!og9 1!d2f 1!3beo 1!onm 1!d5s 1!oo8 1!oo3 1!oow 1!3c06 1!orn 1!d8h 1!ouf 1!ow2 1!oxx 1!d9w 1!3ciw 1!3cjr 1!dax
1!3cnt 1!p6i 1!3cqm 1!p79 1!pa2 1!pad 1!3d22 1!3d43 1!pcw 1!3d7s 1!pdc 1!33a7 1!ded 1!pf6 1!phf 1!dfv 1!pj2 1!hx1
1!3dlz 1!3dmd 1!33bn 1!33bw 1!poh 1!pok 1!sda 1!dij 1!psh 1!psb 1!pst 1!gc3 1!ptd 1!ptf 1!ptp 1!puu 1!3ebg 1!put
1!pwd 1!pyb 1!q0d 1!pwj 1!q0t 1!q1z 1!q53 1!pxv 1!q16 1!q18 1!q1o 1!3eie 1!3eqz 1!3emt 1!dnv 1!q9d 1!q9f 1!qae
1!3g0a 1!qck 1!3f3g 1!dp9 1!dpd 1!3f75 1!3ff6 1!dpn 1!qj4 1!qjg 1!qjr 1!qjt 1!qll 1!qko 1!qoe 1!qn6 1!qrd 1!qp4
1!qqz 1!qrq 1!dsn 1!qu9 1!qv5 1!dtl 1!qxs 1!qxv 1!3giv 1!r13 1!r1a 1!dv9 1!r22 1!aez 1!3gz2 1!3h46 1!dz2 1!dzb
1!rds 1!rfx 1!rka 1!rpx 1!3hrc 1!rsb 1!rsx 1!rvf 1!rxz 1!3i9b 1!2upw 1!s0b 1!rzw 1!s1c 1!2uvy 1!s7o 1!sag 1!3jki
1!3jl9 1!sk4 1!smp 1!snl 1!3ju6 1!snv 1!svs 1!t07 1!t08 1!sxo 1!t89 1!t91 1!3ksa 1!tjf 1!ej9 1!tkn 1!3l2v 1!eli
1!ts3 1!iia 1!tur 1!3ltx 1!3lzu 1!epa 1!epi 1!u00 1!3mdm 1!er6 1!3mhi 1!u17 1!u17 1!u21 1!3mpi 1!u76 1!eur 1!u95
1!ucn 1!ude 1!uf2 1!ez2 1!3nsg 1!umq 1!uv4 1!v0d 1!f66 1!f71 1!v3b 1!3owe 1!f7c 1!3oxx 1!3p5a 1!3p8x 1!vcr 1!f9y
1!veh 1!vem 1!vet 1!vf3 1!vfa 1!vgb 1!3pxc]]

data.lowercase = [[
1t:2p 1:2q 1:2r 1:2s 1:2t 1:2u 1:2v 1:2w 1:2x 1:2y 1:2z 1:30 1:31 1:32 1:33 1:34 1:35 1:36 1:37 1:38 1:39 1:3a 1:3b
1:3c 1:3d 1:3e 2u:68 1:69 1:6a 1:6b 1:6c 1:6d 1:6e 1:6f 1:6g 1:6h 1:6i 1:6j 1:6k 1:6l 1:6m 1:6n 1:6o 1:6p 1:6q 1:6r
1:6s 1:6t 1:6u 2:6w 1:6x 1:6y 1:6z 1:70 1:71 1:72 y:75 2:77 2:79 2:7b 2:7d 2:7f 2:7h 2:7j 2:7l 2:7n 2:7p 2:7r 2:7t
2:7v 2:7x 2:7z 2:81 2:83 2:85 2:87 2:89 2:8b 2:8d 2:8f 2:2x.lj 2:8j 2:8l 2:8n 3:8q 2:8s 2:8u 2:8w 2:8y 2:90 2:92
2:94 3:97 2:99 2:9b 2:9d 2:9f 2:9h 2:9j 2:9l 2:9n 2:9p 2:9r 2:9t 2:9v 2:9x 2:9z 2:a1 2:a3 2:a5 2:a7 2:a9 2:ab 2:ad
2:af 2:73 1:ai 2:ak 2:am 4:gj 1:ar 2:at 2:gk 1:aw 2:gm 1:gn 1:b0 3:d9 1:gp 1:gr 1:b6 2:gw 1:gz 2:h5 1:h4 1:bd 4:hb
1:he 2:hh 1:bl 2:bn 2:bp 2:hs 1:bs 2:hv 3:bx 2:i0 1:c0 2:i2 1:i3 1:c4 2:c6 2:ia 1:c9 4:cd 8:cm 1:cm 2:cp 1:cp 2:cs
1:cs 2:cu 2:cw 2:cy 2:d0 2:d2 2:d4 2:d6 2:d8 3:db 2:dd 2:df 2:dh 2:dj 2:dl 2:dn 2:dp 2:dr 3:dv 1:dv 2:dx 2:b9 1:cf
1:e1 2:e3 2:e5 2:e7 2:e9 2:eb 2:ed 2:ef 2:eh 2:ej 2:el 2:en 2:ep 2:er 2:et 2:ev 2:ex 2:ez 2:f1 2:f3 2:bi 2:f7 2:f9
2:fb 2:fd 2:ff 2:fh 2:fj 2:fl 2:fn 8:8rp 1:fw 2:be 1:8rq 3:g2 2:ao 1:i1 1:i4 1:g7 2:g9 2:gb 2:gd 2:gf 82:oh 2:oj
4:on 9:s3 7:q4 2:q5 1:q6 1:q7 2:r0 2:r1 1:r2 2:q9 1:qa 1:qb 1:qc 1:qd 1:qe 1:qf 1:qg 1:qh 1:qi 1:qj 1:qk 1:ql 1:qm
1:qn 1:qo 1:qp 2:qr 1:qs 1:qt 1:qu 1:qv 1:qw 1:qx 1:qy 1:qz 10:rb 9:rd 2:rf 2:rh 2:rj 2:rl 2:rn 2:rp 2:rr 2:rt 2:rv
2:rx 2:rz 6:qg 3:s8 2:s2 1:sb 3:or 1:os 1:ot 1:uo 1:up 1:uq 1:ur 1:us 1:ut 1:uu 1:uv 1:uw 1:ux 1:uy 1:uz 1:v0 1:v1
1:v2 1:v3 1:ts 1:tt 1:tu 1:tv 1:tw 1:tx 1:ty 1:tz 1:u0 1:u1 1:u2 1:u3 1:u4 1:u5 1:u6 1:u7 1:u8 1:u9 1:ua 1:ub 1:uc
1:ud 1:ue 1:uf 1:ug 1:uh 1:ui 1:uj 1:uk 1:ul 1:um 1:un 1d:v5 2:v7 2:v9 2:vb 2:vd 2:vf 2:vh 2:vj 2:vl 2:vn 2:vp 2:vr
2:vt 2:vv 2:vx 2:vz 2:w1 a:wb 2:wd 2:wf 2:wh 2:wj 2:wl 2:wn 2:wp 2:wr 2:wt 2:wv 2:wx 2:wz 2:x1 2:x3 2:x5 2:x7 2:x9
2:xb 2:xd 2:xf 2:xh 2:xj 2:xl 2:xn 2:xp 2:xr 2:y7 1:xu 2:xw 2:xy 2:y0 2:y2 2:y4 2:y6 3:y9 2:yb 2:yd 2:yf 2:yh 2:yj
2:yl 2:yn 2:yp 2:yr 2:yt 2:yv 2:yx 2:yz 2:z1 2:z3 2:z5 2:z7 2:z9 2:zb 2:zd 2:zf 2:zh 2:zj 2:zl 2:zn 2:zp 2:zr 2:zt
2:zv 2:zx 2:zz 2:101 2:103 2:105 2:107 2:109 2:10b 2:10d 2:10f 2:10h 2:10j 2:10l 2:10n 2:10p 2:10r 2:10t 2:10v
3:129 1:12a 1:12b 1:12c 1:12d 1:12e 1:12f 1:12g 1:12h 1:12i 1:12j 1:12k 1:12l 1:12m 1:12n 1:12o 1:12p 1:12q 1:12r
1:12s 1:12t 1:12u 1:12v 1:12w 1:12x 1:12y 1:12z 1:130 1:131 1:132 1:133 1:134 1:135 1:136 1:137 1:138 1:139 1:13a
28a:8w0 1:8w1 1:8w2 1:8w3 1:8w4 1:8w5 1:8w6 1:8w7 1:8w8 1:8w9 1:8wa 1:8wb 1:8wc 1:8wd 1:8we 1:8wf 1:8wg 1:8wh 1:8wi
1:8wj 1:8wk 1:8wl 1:8wm 1:8wn 1:8wo 1:8wp 1:8wq 1:8wr 1:8ws 1:8wt 1:8wu 1:8wv 1:8ww 1:8wx 1:8wy 1:8wz 1:8x0 1:8x1
2:8x3 6:8x9 k3:xv4 1:xv5 1:xv6 1:xv7 1:xv8 1:xv9 1:xva 1:xvb 1:xvc 1:xvd 1:xve 1:xvf 1:xvg 1:xvh 1:xvi 1:xvj 1:xvk
1:xvl 1:xvm 1:xvn 1:xvo 1:xvp 1:xvq 1:xvr 1:xvs 1:xvt 1:xvu 1:xvv 1:xvw 1:xvx 1:xvy 1:xvz 1:xw0 1:xw1 1:xw2 1:xw3
1:xw4 1:xw5 1:xw6 1:xw7 1:xw8 1:xw9 1:xwa 1:xwb 1:xwc 1:xwd 1:xwe 1:xwf 1:xwg 1:xwh 1:xwi 1:xwj 1:xwk 1:xwl 1:xwm
1:xwn 1:xwo 1:xwp 1:xwq 1:xwr 1:xws 1:xwt 1:xwu 1:xwv 1:xww 1:xwx 1:xwy 1:xwz 1:xx0 1:xx1 1:xx2 1:xx3 1:xx4 1:xx5
1:xx6 1:xx7 1:xx8 1:xx9 1:xxa 1:xxb 1:3y0 1:3y1 1:3y2 1:3y3 1:3y4 1:3y5 1p7:3bk 1:3bl 1:3bm 1:3bn 1:3bo 1:3bp 1:3bq
1:3br 1:3bs 1:3bt 1:3bu 1:3bv 1:3bw 1:3bx 1:3by 1:3bz 1:3c0 1:3c1 1:3c2 1:3c3 1:3c4 1:3c5 1:3c6 1:3c7 1:3c8 1:3c9
1:3ca 1:3cb 1:3cc 1:3cd 1:3ce 1:3cf 1:3cg 1:3ch 1:3ci 1:3cj 1:3ck 1:3cl 1:3cm 1:3cn 1:3co 1:3cp 1:3cq 3:3ct 1:3cu
1:3cv 8x:5xd 2:5xf 2:5xh 2:5xj 2:5xl 2:5xn 2:5xp 2:5xr 2:5xt 2:5xv 2:5xx 2:5xz 2:5y1 2:5y3 2:5y5 2:5y7 2:5y9 2:5yb
2:5yd 2:5yf 2:5yh 2:5yj 2:5yl 2:5yn 2:5yp 2:5yr 2:5yt 2:5yv 2:5yx 2:5yz 2:5z1 2:5z3 2:5z5 2:5z7 2:5z9 2:5zb 2:5zd
2:5zf 2:5zh 2:5zj 2:5zl 2:5zn 2:5zp 2:5zr 2:5zt 2:5zv 2:5zx 2:5zz 2:601 2:603 2:605 2:607 2:609 2:60b 2:60d 2:60f
2:60h 2:60j 2:60l 2:60n 2:60p 2:60r 2:60t 2:60v 2:60x 2:60z 2:611 2:613 2:615 2:617 2:619 2:61b 2:61d 2:61f 2:61h
a:67 2:61t 2:61v 2:61x 2:61z 2:621 2:623 2:625 2:627 2:629 2:62b 2:62d 2:62f 2:62h 2:62j 2:62l 2:62n 2:62p 2:62r
2:62t 2:62v 2:62x 2:62z 2:631 2:633 2:635 2:637 2:639 2:63b 2:63d 2:63f 2:63h 2:63j 2:63l 2:63n 2:63p 2:63r 2:63t
2:63v 2:63x 2:63z 2:641 2:643 2:645 2:647 2:649 2:64b 2:64d 2:64f a:64g 1:64h 1:64i 1:64j 1:64k 1:64l 1:64m 1:64n
9:64w 1:64x 1:64y 1:64z 1:650 1:651 b:65c 1:65d 1:65e 1:65f 1:65g 1:65h 1:65i 1:65j 9:65s 1:65t 1:65u 1:65v 1:65w
1:65x 1:65y 1:65z 9:668 1:669 1:66a 1:66b 1:66c 1:66d c:66p 2:66r 2:66t 2:66v 9:674 1:675 1:676 1:677 1:678 1:679
1:67a 1:67b p:680 1:681 1:682 1:683 1:684 1:685 1:686 1:687 9:68g 1:68h 1:68i 1:68j 1:68k 1:68l 1:68m 1:68n 9:68w
1:68x 1:68y 1:68z 1:690 1:691 1:692 1:693 9:69c 1:69d 1:67k 1:67l 1:69f c:67m 1:67n 1:67o 1:67p 1:69v c:6a8 1:6a9
1:67q 1:67r d:6ao 1:6ap 1:67u 1:67v 1:6at c:67s 1:67t 1:67w 1:67x 1:6b7 8a:qx 4:2z 1:6d 7:6ku 1a:6ls 1:6lt 1:6lu
1:6lv 1:6lw 1:6lx 1:6ly 1:6lz 1:6m0 1:6m1 1:6m2 1:6m3 1:6m4 1:6m5 1:6m6 1:6m7 k:6mc mr:79s 1:79t 1:79u 1:79v 1:79w
1:79x 1:79y 1:79z 1:7a0 1:7a1 1:7a2 1:7a3 1:7a4 1:7a5 1:7a6 1:7a7 1:7a8 1:7a9 1:7aa 1:7ab 1:7ac 1:7ad 1:7ae 1:7af
1:7ag 1:7ah 1f5:8q8 1:8q9 1:8qa 1:8qb 1:8qc 1:8qd 1:8qe 1:8qf 1:8qg 1:8qh 1:8qi 1:8qj 1:8qk 1:8ql 1:8qm 1:8qn 1:8qo
1:8qp 1:8qq 1:8qr 1:8qs 1:8qt 1:8qu 1:8qv 1:8qw 1:8qx 1:8qy 1:8qz 1:8r0 1:8r1 1:8r2 1:8r3 1:8r4 1:8r5 1:8r6 1:8r7
1:8r8 1:8r9 1:8ra 1:8rb 1:8rc 1:8rd 1:8re 1:8rf 1:8rg 1:8rh 1:8ri 1:8rj 1d:8rl 2:h7 1:5tp 1:hp 3:8rs 2:8ru 2:8rw
2:gh 1:hd 1:gg 1:gi 2:8s3 3:8s6 9:fz 1:g0 1:8sh 2:8sj 2:8sl 2:8sn 2:8sp 2:8sr 2:8st 2:8sv 2:8sx 2:8sz 2:8t1 2:8t3
2:8t5 2:8t7 2:8t9 2:8tb 2:8td 2:8tf 2:8th 2:8tj 2:8tl 2:8tn 2:8tp 2:8tr 2:8tt 2:8tv 2:8tx 2:8tz 2:8u1 2:8u3 2:8u5
2:8u7 2:8u9 2:8ub 2:8ud 2:8uf 2:8uh 2:8uj 2:8ul 2:8un 2:8up 2:8ur 2:8ut 2:8uv 2:8ux 2:8uz 2:8v1 2:8v3 2:8v5 2:8v7
9:8vg 2:8vi 5:8vn nym:wu9 2:wub 2:wud 2:wuf 2:wuh 2:wuj 2:wul 2:wun 2:wup 2:wur 2:wut 2:wuv 2:wux 2:wuz 2:wv1 2:wv3
2:wv5 2:wv7 2:wv9 2:wvb 2:wvd 2:wvf 2:wvh k:ww1 2:ww3 2:ww5 2:ww7 2:ww9 2:wwb 2:wwd 2:wwf 2:wwh 2:wwj 2:wwl 2:wwn
2:wwp 2:wwr 3s:x0j 2:x0l 2:x0n 2:x0p 2:x0r 2:x0t 2:x0v 4:x0z 2:x11 2:x13 2:x15 2:x17 2:x19 2:x1b 2:x1d 2:x1f 2:x1h
2:x1j 2:x1l 2:x1n 2:x1p 2:x1r 2:x1t 2:x1v 2:x1x 2:x1z 2:x21 2:x23 2:x25 2:x27 2:x29 2:x2b 2:x2d 2:x2f 2:x2h 2:x2j
2:x2l 2:x2n b:x2y 2:x30 2:5tl 1:x33 2:x35 2:x37 2:x39 2:x3b 5:x3g 2:h1 3:x3l 2:x3n 4:x3r 2:x3t 2:x3v 2:x3x 2:x3z
2:x41 2:x43 2:x45 2:x47 2:x49 2:h2 1:gs 1:gx 1:h8 1:h6 2:im 1:hz 1:il 1:xub 1:x4l 2:x4n 2:x4p 2:x4r 2:x4t 2:x4v
2:x4x 2:x4z 2:x3o 1:hu 1:5u6 1:x54 2:x56 7:x5d 6:x5j 2:x5l t:x6e h7w:1ef5 1:1ef6 1:1ef7 1:1ef8 1:1ef9 1:1efa 1:1efb
1:1efc 1:1efd 1:1efe 1:1eff 1:1efg 1:1efh 1:1efi 1:1efj 1:1efk 1:1efl 1:1efm 1:1efn 1:1efo 1:1efp 1:1efq 1:1efr
1:1efs 1:1eft 1:1efu xy:1fe0 1:1fe1 1:1fe2 1:1fe3 1:1fe4 1:1fe5 1:1fe6 1:1fe7 1:1fe8 1:1fe9 1:1fea 1:1feb 1:1fec
1:1fed 1:1fee 1:1fef 1:1feg 1:1feh 1:1fei 1:1fej 1:1fek 1:1fel 1:1fem 1:1fen 1:1feo 1:1fep 1:1feq 1:1fer 1:1fes
1:1fet 1:1feu 1:1fev 1:1few 1:1fex 1:1fey 1:1fez 1:1ff0 1:1ff1 1:1ff2 1:1ff3 3t:1fiw 1:1fix 1:1fiy 1:1fiz 1:1fj0
1:1fj1 1:1fj2 1:1fj3 1:1fj4 1:1fj5 1:1fj6 1:1fj7 1:1fj8 1:1fj9 1:1fja 1:1fjb 1:1fjc 1:1fjd 1:1fje 1:1fjf 1:1fjg
1:1fjh 1:1fji 1:1fjj 1:1fjk 1:1fjl 1:1fjm 1:1fjn 1:1fjo 1:1fjp 1:1fjq 1:1fjr 1:1fjs 1:1fjt 1:1fju 1:1fjv 4d:1fo7
1:1fo8 1:1fo9 1:1foa 1:1fob 1:1foc 1:1fod 1:1foe 1:1fof 1:1fog 1:1foh 2:1foj 1:1fok 1:1fol 1:1fom 1:1fon 1:1foo
1:1fop 1:1foq 1:1for 1:1fos 1:1fot 1:1fou 1:1fov 1:1fow 1:1fox 2:1foz 1:1fp0 1:1fp1 1:1fp2 1:1fp3 1:1fp4 1:1fp5
2:1fp7 1:1fp8 1d7:1h34 1:1h35 1:1h36 1:1h37 1:1h38 1:1h39 1:1h3a 1:1h3b 1:1h3c 1:1h3d 1:1h3e 1:1h3f 1:1h3g 1:1h3h
1:1h3i 1:1h3j 1:1h3k 1:1h3l 1:1h3m 1:1h3n 1:1h3o 1:1h3p 1:1h3q 1:1h3r 1:1h3s 1:1h3t 1:1h3u 1:1h3v 1:1h3w 1:1h3x
1:1h3y 1:1h3z 1:1h40 1:1h41 1:1h42 1:1h43 1:1h44 1:1h45 1:1h46 1:1h47 1:1h48 1:1h49 1:1h4a 1:1h4b 1:1h4c 1:1h4d
1:1h4e 1:1h4f 1:1h4g 1:1h4h 1:1h4i 2cu:1jgg 1:1jgh 1:1jgi 1:1jgj 1:1jgk 1:1jgl 1:1jgm 1:1jgn 1:1jgo 1:1jgp 1:1jgq
1:1jgr 1:1jgs 1:1jgt 1:1jgu 1:1jgv 1:1jgw 1:1jgx 1:1jgy 1:1jgz 1:1jh0 1:1jh1 1:1jh2 1:1jh3 1:1jh4 1:1jh5 1:1jh6
1:1jh7 1:1jh8 1:1jh9 1:1jha 1:1jhb gw1:20dc 1:20dd 1:20de 1:20df 1:20dg 1:20dh 1:20di 1:20dj 1:20dk 1:20dl 1:20dm
1:20dn 1:20do 1:20dp 1:20dq 1:20dr 1:20ds 1:20dt 1:20du 1:20dv 1:20dw 1:20dx 1:20dy 1:20dz 1:20e0 1:20e1 1:20e2
1:20e3 1:20e4 1:20e5 1:20e6 1:20e7 o81:2oma 1:2omb 1:2omc 1:2omd 1:2ome 1:2omf 1:2omg 1:2omh 1:2omi 1:2omj 1:2omk
1:2oml 1:2omm 1:2omn 1:2omo 1:2omp 1:2omq 1:2omr 1:2oms 1:2omt 1:2omu 1:2omv 1:2omw 1:2omx 1:2omy 1:2omz 1:2on0
1:2on1 1:2on2 1:2on3 1:2on4 1:2on5 1:2on6 1:2on7]]

data.bert_marks = [[
lc 34=1 7n 5=1 7d 19=1 1 1=1 1 2=1 1 2=1 1 1=1 20 b=1 1c l=1 g 1=1 2t 7=1 2 6=1 2 2=1 1 4=1 z 1=1 u r=1 2j b=1 1m
9=1 y 4=1 1 9=1 1 3=1 1 5=1 17 3=1 3r w=1 1j 1=1 1 1=1 4 8=1 4 1=1 3 7=1 a 2=1 t 1=1 1m 1=1 4 4=1 8 1=1 k 2=1 t 2=1
1l 1=1 4 2=1 4 2=1 2 3=1 3 1=1 u 2=1 3 1=1 b 2=1 1l 1=1 4 5=1 1 2=1 4 1=1 k 2=1 t 1=1 1m 1=1 2 1=1 1 4=1 8 1=1 8
1=1 b 2=1 u 1=1 1p 1=1 c 1=1 1e 1=1 1p 3=1 5 3=1 1 4=1 7 2=1 b 2=1 t 1=1 1m 1=1 2 1=1 6 1=1 5 2=1 k 2=1 t 1=1 1r
4=1 8 1=1 k 2=1 2u 1=1 7 3=1 1 1=1 2i 1=1 2 7=1 c 8=1 2q 1=1 2 6=1 1 2=1 b 6=1 22 2=1 r 1=1 1 1=1 1 1=1 1j e=1 1
5=1 1 2=1 5 b=1 1 10=1 9 1=1 2u 4=1 1 6=1 1 2=1 2 2=1 p 2=1 4 3=1 g 4=1 d 1=1 2 2=1 6 1=1 f 1=1 jj 3=1 qa 3=1 t 3=1
t 2=1 u 2=1 1s 2=1 1 7=1 8 1=1 2 b=1 9 1=1 19 3=1 4b 1=1 3a 3=1 4 2=1 9 1=1 6 3=1 63 2=1 2 1=1 1m 1=1 1 7=1 1 1=1 1
1=1 2 8=1 6 a=1 2 1=1 1c e=1 1u 4=1 1c 1=1 1 5=1 1 1=1 5 1=1 14 9=1 c 2=1 w 4=1 2 2=1 1 3=1 1k 1=1 1 2=1 3 1=1 1
3=1 1m 8=1 2 2=1 48 3=1 1 d=1 1 7=1 4 1=1 6 1=1 3 2=1 5i 1i=1 6 4=1 k0 d=1 4 1=1 3 c=1 2da 3=1 3x 1=1 2o w=1 fe 4=1
2z 2=1 n9w 1=1 4 a=1 w 2=1 28 2=1 7k 1=1 3 1=1 4 1=1 p 2=1 4d 1=1 r i=1 1g 8=1 p b=1 1a 3=1 1c 1=1 2 4=1 2 1=1 14
1=1 1v 6=1 2 2=1 2 2=1 c 1=1 8 1=1 1b 1=1 1f 1=1 1 3=1 2 2=1 5 2=1 1 1=1 16 2=1 8 1=1 6m 1=1 2 1=1 4 1=1 fn4 1=1 kh
g=1 g g=1 r1 1=1 6a 1=1 45 5=1 1ae 3=1 1 2=1 5 4=1 14 3=1 4 1=1 4l 2=1 10a 1=1 1i f=1 1k 3=1 1d 4=1 2 2=1 1x 3=1 10
5=1 1 8=1 1q 1=1 c 2=1 1g 9=1 b 3=1 2q 3=1 2 1=1 1 2=1 4n 1=1 3 8=1 l 2=1 1m 1=1 3 1=1 11 7=1 3 5=1 8u 6=1 1 1=1 4
2=1 1 2=1 6m 4=1 6 2=1 1 2=1 r 2=1 2d 8=1 2 1=1 1 2=1 2y 1=1 1 1=1 2 6=1 1 1=1 2t 3=1 2 4=1 1 5=1 gjo 5=1 1n 7=1 uw
4=1 f7u 2=1 43s 3=1 h 8=1 2 7=1 u 4=1 44 3=1 1iz 1j=1 4 1e=1 8 1=1 e 1=1 m 5=1 1 f=1 2sg 7=1 gzl5 6o=1 47bk]]

data.bert_punctuation = [[
x f=1 a 7=1 q 6=1 q 4=1 y 1=1 5 1=1 3 1=1 a 2=1 3 1=1 3 1=1 ji 1=1 8 1=1 cy 6=1 15 2=1 1f 1=1 1 1=1 2 1=1 2 1=1 18
2=1 k 2=1 1 2=1 d 1=1 2 2=1 22 4=1 2u 1=1 17 e=1 6h 3=1 1i f=1 v 1=1 79 2=1 a 1=1 an 1=1 lf 1=1 2i 1=1 a 2=1 4o f=1
1 1=1 11 4=1 1z 1=1 22 5=1 4 2=1 33 6=1 4r 1=1 h0 9=1 47 1=1 h8 2=1 18 2=1 26 3=1 1z 2=1 4d 3=1 1 3=1 11 b=1 8p 2=1
60 2=1 3k 7=1 1 6=1 4s 7=1 4b 4=1 1n 5=1 1q 2=1 1s 8=1 b 1=1 n0 o=1 8 k=1 1 d=1 1 c=1 u 2=1 e 2=1 hl 4=1 t 2=1 u5
e=1 27 2=1 v a=1 b7 m=1 1r 4=1 w 2=1 l7 4=1 1 2=1 34 1=1 3z 1b=1 1 j=1 ce 3=1 4 a=1 2 c=1 g 1=1 c 1=1 2q 1=1 2i 1=1
mwy 2=1 7h 3=1 2r 1=1 a 1=1 37 6=1 ak 4=1 2e 2=1 14 3=1 1 1=1 1d 2=1 1b 1=1 2p d=1 g 2=1 3g 4=1 3i 2=1 g 2=1 6x 1=1
g2a 2=1 5s a=1 m z=1 1 e=1 1 1=1 4 1=1 1 2=1 45 3=1 1 6=1 1 4=1 a 2=1 3 2=1 q 3=1 1 1=1 r 1=1 1 1=1 1 7=1 be 3=1 ik
1=1 1c 1=1 bi 1=1 kn 1=1 5j 1=1 v 1=1 7k 9=1 12 1=1 34 7=1 1u 7=1 2h 4=1 x6 7=1 31 2=1 1 4=1 3i 4=1 1c 2=1 27 5=1 3
1=1 d 1=1 1 3=1 2g 6=1 2z 1=1 f0 1=1 6y n=1 2x 3=1 6w 3=1 2lt 5=1 dtl 2=1 3p 1=1 1t 5=1 8 1=1 g2i 1=1 5wn 5=1 l9x0]]

data.accents = [[
lc 34=1 7n 7=1 7b 19=1 1 1=1 1 2=1 1 2=1 1 1=1 20 b=1 1c l=1 g 1=1 2t 7=1 2 6=1 2 2=1 1 4=1 z 1=1 u r=1 2j b=1 1m
9=1 y 4=1 1 9=1 1 3=1 1 5=1 17 3=1 3c e=1 1 x=1 1i 3=1 1 i=1 1 7=1 a 2=1 t 3=1 1k 1=1 1 7=1 2 2=1 2 3=1 9 1=1 a 2=1
t 3=1 1k 1=1 1 5=1 4 2=1 2 3=1 3 1=1 u 2=1 3 1=1 b 3=1 1k 1=1 1 8=1 1 3=1 1 3=1 k 2=1 t 3=1 1k 1=1 1 7=1 2 2=1 2
3=1 8 2=1 a 2=1 u 1=1 1n 5=1 3 3=1 1 4=1 9 1=1 14 4=1 1m 7=1 1 3=1 1 4=1 7 2=1 b 2=1 t 3=1 1k 1=1 1 7=1 1 3=1 1 4=1
7 2=1 b 2=1 t 3=1 1m 7=1 1 3=1 1 4=1 9 1=1 a 2=1 u 2=1 1y 1=1 4 6=1 1 1=1 1 8=1 i 2=1 1p 1=1 2 7=1 c 8=1 2q 1=1 2
6=1 1 2=1 b 6=1 22 2=1 r 1=1 1 1=1 1 1=1 4 2=1 1d k=1 1 2=1 5 b=1 1 10=1 9 1=1 2s k=1 n 4=1 4 3=1 1 3=1 2 7=1 3 4=1
d c=1 1 1=1 a 4=1 jj 3=1 qa 3=1 t 3=1 t 2=1 u 2=1 1s w=1 9 1=1 19 3=1 3b 2=1 y 1=1 3a c=1 4 c=1 63 5=1 1l a=1 1 t=1
2 1=1 1c f=1 1t 5=1 1b h=1 12 9=1 c 3=1 u d=1 1k e=1 1c k=1 48 3=1 1 l=1 4 1=1 4 3=1 3 2=1 5i 1i=1 5 5=1 k0 x=1 2da
3=1 3x 1=1 2o w=1 fe 6=1 2x 2=1 n9w 4=1 1 a=1 w 2=1 28 2=1 7k 1=1 3 1=1 4 1=1 n 5=1 2g 2=1 1e i=1 q i=1 1g 8=1 p
d=1 18 4=1 1b e=1 10 1=1 1v e=1 c 1=1 8 2=1 19 3=1 1e 1=1 1 3=1 2 2=1 5 2=1 1 1=1 15 5=1 5 2=1 6k 8=1 1 2=1 fn4 1=1
kh g=1 g g=1 r1 1=1 6a 1=1 45 5=1 1ae 3=1 1 2=1 5 4=1 14 3=1 4 1=1 4l 2=1 109 3=1 1h f=1 1k 4=1 19 b=1 1x 3=1 10
e=1 1q 1=1 c 3=1 1c e=1 9 3=1 2n c=1 6 1=1 4g c=1 l 4=1 1k 1=1 1 7=1 2 2=1 2 3=1 9 1=1 a 2=1 2 7=1 3 5=1 5c i=1 2x
k=1 6j 7=1 2 9=1 r 2=1 2a h=1 2y d=1 2t f=1 zn 8=1 1 8=1 2a m=1 1 e=1 fg9 5=1 1n 7=1 t6 1a=1 g 4=1 f7u 2=1 43q 5=1
3 6=1 8 8=1 2 7=1 u 4=1 44 3=1 1iz 1j=1 4 1e=1 8 1=1 e 1=1 m 5=1 1 f=1 11s 7=1 1 h=1 2 7=1 1 2=1 1 5=1 1ph 7=1 31
7=1 gzhx 6o=1 47bk]]

return data
