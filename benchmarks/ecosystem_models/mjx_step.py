"""One step of the physics of a double pendulum."""

import mujoco
from mujoco import mjx

MODEL = mujoco.MjModel.from_xml_string("""
<mujoco>
  <worldbody>
    <body>
      <joint type="hinge" axis="0 1 0"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0 0 -0.5"/>
      <body pos="0 0 -0.5">
        <joint type="hinge" axis="0 1 0"/>
        <geom type="capsule" size="0.05" fromto="0 0 0 0 0 -0.5"/>
      </body>
    </body>
  </worldbody>
</mujoco>
""")


def step(model, data):
    return mjx.step(model, data)


def inputs():
    return {"model": mjx.put_model(MODEL), "data": mjx.make_data(MODEL)}
