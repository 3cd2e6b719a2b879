module @MODULE@(@PORTS@);

  @REF@ my_inner(@REF_PORTS@);
endmodule
